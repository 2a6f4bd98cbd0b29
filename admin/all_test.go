package admin_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// walkingEngine is an engine that searches for names, and yields what a test says.
type walkingEngine struct {
	*spy
	find func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error
}

func (s walkingEngine) Walk(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	return s.do(ctx, "Walk", q.Prefix, func() error { return s.find(ctx, q, visit) })
}

// newWalkingClient returns a client of an engine that searches for names.
func newWalkingClient(
	e *spy, find func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error,
) *admin.Client {
	e.can.Walk = true
	return admin.New(walkingEngine{e, find})
}

// inPieces walks as the engine of a server does.
func inPieces(e *spy, size int) func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	return func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
		q.Limit = 1 << 30
		all, err := e.Engine.List(ctx, q)
		for piece := range slices.Chunk(all, size) {
			if !visit(piece) {
				return nil
			}
		}
		return err
	}
}

// namesOf collects what All yields until its first error.
func namesOf(all iter.Seq2[admin.Status, error]) (names []string, err error) {
	for s, failed := range all {
		if err != nil {
			return names, fmt.Errorf("%q was yielded after the error %w", s.Name, err)
		}
		if err = failed; err == nil {
			names = append(names, s.Kind.String()+" "+s.Name)
		}
	}
	return names, err
}

// fill takes locks.
func fill(t *testing.T, e *spy, n int) (names []string) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("order:%04d", i)
		r := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: name}, Owner: name, Size: 1, Weight: 1,
			TTL: time.Hour}
		if _, err := e.Engine.Take(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		names = append(names, "lock "+name)
	}
	return names
}

func TestAllYieldsEverything(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		locker, c := newLocker(t, e), admin.New(e)
		want := fill(t, e, 1100)
		take(t, permits(locker.Semaphore("room", 3), 2))
		if did, err := locker.Latch("start").TrySet(t.Context(), 7); err != nil || !did {
			t.Fatalf("TrySet returned %v, %v", did, err)
		}
		want = append(want, "semaphore room", "latch start")
		for _, c := range []*admin.Client{c, newWalkingClient(e, inPieces(e, 7))} {
			for _, limit := range []int{0, 1, 5000} {
				e.forget()
				got, err := namesOf(c.All(t.Context(), admin.Query{Limit: limit}))
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("with limit %d it yielded %d names, %v; want %d", limit, len(got), err, len(want))
				}
				if n := e.sent(); n > 3 {
					t.Errorf("it took %d requests", n)
				}
			}
			got, err := namesOf(c.All(t.Context(), admin.Query{Prefix: "order:109", Kind: driver.Lock}))
			if err != nil || !slices.Equal(got, want[1090:1100]) {
				t.Errorf("with a prefix it yielded %q, %v", got, err)
			}
			got, err = namesOf(c.All(t.Context(),
				admin.Query{After: driver.Key{Kind: driver.Lock, Name: "order:1098"}}))
			if err != nil || !slices.Equal(got, want[1099:]) {
				t.Errorf("behind a name it yielded %q, %v", got, err)
			}
			if got, err = namesOf(c.All(t.Context(), admin.Query{Prefix: "none"})); err != nil || len(got) != 0 {
				t.Errorf("of nothing it yielded %q, %v", got, err)
			}
		}
	})
}

// The engine gets the whole query except the limit, and its progress is passed on.
func TestAllPassesTheQueryOn(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		var reported []int
		var query driver.Query
		c := newWalkingClient(e, func(_ context.Context, q driver.Query, _ func([]driver.Status) bool) error {
			query = q
			q.Progress(3)
			q.Progress(9)
			return nil
		})
		asked := admin.Query{Kind: driver.Semaphore, Name: "n", Prefix: "p", Queue: true, Limit: 9,
			After: driver.Key{Kind: driver.Lock, Name: "a"}, Progress: func(n int) { reported = append(reported, n) }}
		_, err := namesOf(c.All(t.Context(), asked))
		expect(t, err, nil)
		if !slices.Equal(reported, []int{3, 9}) {
			t.Errorf("progress was %v", reported)
		}
		if query.Kind != asked.Kind || query.Name != "n" || query.Prefix != "p" || !query.Queue ||
			query.After != asked.After || query.Limit != 0 {
			t.Errorf("the engine got %+v", query)
		}
	})
}

func TestAllEndsWhenItsCallerDoes(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		fill(t, e, 1100)
		stops := func(c *admin.Client) {
			t.Helper()
			e.forget()
			reported := 0
			for _, err := range c.All(t.Context(), admin.Query{}) {
				expect(t, err, nil)
				if reported++; reported == 3 {
					break
				}
			}
			if n := e.sent(); reported != 3 || n != 1 {
				t.Errorf("it yielded %d names with %d requests", reported, n)
			}
		}
		stops(admin.New(e))
		var answers []bool
		var last context.Context
		stops(newWalkingClient(e, func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
			last = ctx
			all, err := e.Engine.List(ctx, q)
			// An engine that ignores the result of visit.
			for piece := range slices.Chunk(all, 2) {
				answers = append(answers, visit(piece))
			}
			return errors.Join(err, errLost)
		}))
		if !answers[0] || slices.Contains(answers[1:], true) {
			t.Errorf("visit returned %v", answers)
		}
		if last.Err() == nil {
			t.Error("something of the walk is left")
		}
	})
}

func TestAllYieldsErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		fill(t, e, 1100)
		lists := 0
		e.fail(func(c call) error {
			if lists++; c.method == "List" && lists == 2 {
				return errLost
			}
			return nil
		})
		paged := admin.New(e)
		for _, c := range []*admin.Client{paged,
			newWalkingClient(e, func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
				all, err := e.Engine.List(ctx, q)
				visit(all)
				return errors.Join(err, errLost)
			})} {
			got, err := namesOf(c.All(t.Context(), admin.Query{}))
			expectOnly(t, err, leasehold.ErrUnavailable)
			expect(t, err, errLost)
			if len(got) != 1000 {
				t.Errorf("before the error it yielded %d names", len(got))
			}
		}
	})
}

func TestAllEndsWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		fill(t, e, 1100)
		tired := errors.New("tired")
		for _, c := range []*admin.Client{admin.New(e),
			newWalkingClient(e, func(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
				all, _ := e.Engine.List(ctx, q)
				visit(all)
				<-ctx.Done()
				return ctx.Err()
			})} {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var failed error
			reported := 0
			for _, err := range c.All(ctx, admin.Query{}) {
				if reported++; reported == 1000 {
					cancel(tired)
				}
				failed = err
			}
			expectOnly(t, failed, context.Canceled)
			expect(t, failed, tired)

			sent := e.sent()
			_, err := namesOf(c.All(ctx, admin.Query{}))
			expectOnly(t, err, context.Canceled)
			if e.sent() != sent {
				t.Error("something was sent although the context has ended")
			}
		}
	})
}

func TestAllOfABadQuery(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		for _, c := range []*admin.Client{admin.New(e), newWalkingClient(e, inPieces(e, 7))} {
			_, err := namesOf(c.All(t.Context(), admin.Query{Limit: -1}))
			expectRefusal(t, err, "limit", "-1")
			_, err = namesOf(c.All(t.Context(), admin.Query{Kind: 9}))
			expectRefusal(t, err, "kind", "kind(9)")
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// The abilities say what an engine can do, not its methods.
func TestAllOfAnEngineThatDoesNotWalk(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		want := fill(t, e, 3)
		got, err := namesOf(admin.New(walkingEngine{e, nil}).All(t.Context(), admin.Query{}))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("yielded %q, %v", got, err)
		}
	})
}
