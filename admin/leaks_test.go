package admin_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// sweeper is an engine with leaks.
type sweeper struct {
	*spy
	find  func(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error
	sweep func(ctx context.Context, l driver.Leak) error
}

func (s sweeper) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	return s.do(ctx, "Leaks", q.Name, func() error { return s.find(ctx, q, visit) })
}

func (s sweeper) Sweep(ctx context.Context, l driver.Leak) error {
	return s.do(ctx, "Sweep", l.Name, func() error { return s.sweep(ctx, l) })
}

// newLeakyClient returns a client of an engine with leaks.
func newLeakyClient(s sweeper) *admin.Client { return admin.New(s) }

var someLeaks = []admin.Leak{
	{Key: driver.Key{Kind: driver.Lock, Name: "order:1"}, Sort: admin.EndlessLease, Token: 7, Holder: "someone",
		Count: 1, Mark: "m1"},
	{Key: driver.Key{Kind: driver.Lock, Name: "order:2"}, Server: "a:1", Sort: admin.DeadWaiters, Count: 3,
		Mark: "m2"},
	{Key: driver.Key{Kind: driver.Latch, Name: "start"}, Sort: admin.Remains, Count: 1},
}

// visitLeaks visits leaks until visit returns false.
func visitLeaks(visit func(driver.Leak) bool) {
	for _, l := range someLeaks {
		if !visit(l) {
			return
		}
	}
}

func leaksOf(c *admin.Client, ctx context.Context, q admin.Query) (all []admin.Leak, err error) {
	for l, failed := range c.Leaks(ctx, q) {
		if err = errors.Join(err, failed); failed == nil {
			all = append(all, l)
		}
	}
	return all, err
}

func TestLeaksArePassedOn(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		var query driver.Query
		var progress int
		c := newLeakyClient(
			sweeper{spy: e, find: func(_ context.Context, q driver.Query, visit func(driver.Leak) bool) error {
				query = q
				q.Progress(12)
				visitLeaks(visit)
				return nil
			}})
		got, err := leaksOf(c, t.Context(), admin.Query{Prefix: "order:", Kind: driver.Lock, Name: "n",
			Progress: func(n int) { progress = n }})
		if err != nil || !slices.Equal(got, someLeaks) {
			t.Errorf("got %+v, %v", got, err)
		}
		if query.Prefix != "order:" || query.Kind != driver.Lock || query.Name != "n" || progress != 12 {
			t.Errorf("the engine got %+v, and reported %d", query, progress)
		}
		e.forget()
		for l, err := range c.Leaks(t.Context(), admin.Query{Progress: func(int) {}}) {
			if err != nil || l != someLeaks[0] {
				t.Errorf("got %+v, %v", l, err)
			}
			break
		}
		if n := e.sent("Leaks"); n != 1 {
			t.Errorf("it took %d requests", n)
		}
	})
}

func TestLeaksOnAnEngineThatFails(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := newLeakyClient(
			sweeper{spy: e, find: func(ctx context.Context, _ driver.Query, visit func(driver.Leak) bool) error {
				visitLeaks(visit)
				return errors.Join(errLost, ctx.Err())
			}})
		got, err := leaksOf(c, t.Context(), admin.Query{})
		expectOnly(t, err, leasehold.ErrUnavailable)
		expect(t, err, errLost)
		if len(got) != len(someLeaks) {
			t.Errorf("before the error it yielded %+v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = leaksOf(c, ctx, admin.Query{})
		expectOnly(t, err, context.Canceled)
		_, err = leaksOf(c, t.Context(), admin.Query{Kind: 9})
		expectRefusal(t, err, "kind", "kind(9)")
		if n := e.sent(); n != 1 {
			t.Errorf("%d requests were sent, want that of before the trouble", n)
		}
	})
}

func TestLeaksThatCannotBe(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		// One engine says that it finds no leaks, and one has nothing for operators.
		for _, c := range []*admin.Client{admin.New(e), admin.New(struct{ driver.Engine }{e})} {
			_, err := leaksOf(c, t.Context(), admin.Query{})
			expectOnly(t, err, leasehold.ErrUnsupported)
			err = c.Sweep(t.Context(), someLeaks[0])
			expectOnly(t, err, leasehold.ErrUnsupported)
			expectAbout(t, err, someLeaks[0].Kind, someLeaks[0].Name)
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestSweepHasThreeOutcomes(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		var swept []admin.Leak
		var answer error
		c := newLeakyClient(sweeper{spy: e, sweep: func(_ context.Context, l driver.Leak) error {
			swept = append(swept, l)
			return answer
		}})
		expect(t, c.Sweep(t.Context(), someLeaks[0]), nil)
		if !slices.Equal(swept, someLeaks[:1]) {
			t.Errorf("the engine swept %+v", swept)
		}
		for got, want := range map[error]error{
			driver.ErrNotHeld:              leasehold.ErrLost,
			errLost:                        leasehold.ErrUnavailable,
			driver.NoEffect(errLost):       leasehold.ErrUnavailable,
			context.DeadlineExceeded:       leasehold.ErrUnavailable,
			driver.Permanent(permanent):    leasehold.ErrUnavailable,
			errors.Join(driver.ErrNotHeld): leasehold.ErrLost,
			driver.ErrInvalid:              leasehold.ErrInvalid,
		} {
			answer = got
			err := c.Sweep(t.Context(), someLeaks[0])
			expectOnly(t, err, want)
			expectAbout(t, err, someLeaks[0].Kind, someLeaks[0].Name)
		}
	})
}
