package fence_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/fence"
)

// work is one piece of work at a gate.
type work struct {
	begun, finish chan struct{}
	done          chan error
}

// startWork begins work at a gate. It goes on until it is told to finish.
func startWork(ctx context.Context, g *fence.Gate, name string, token uint64) *work {
	p := &work{begun: make(chan struct{}), finish: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		p.done <- g.Do(ctx, name, token, func(context.Context) error {
			close(p.begun)
			<-p.finish
			return nil
		})
	}()
	return p
}

// is says what state the work is in when nothing changes any more.
func (p *work) is() string {
	synctest.Wait()
	select {
	case <-p.begun:
		return "inside"
	default:
	}
	if len(p.done) > 0 {
		err := <-p.done
		p.done <- err
		return err.Error()
	}
	return "waiting"
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func staleText(name string, have, want uint64) string {
	return (&fence.StaleError{Name: name, Have: have, Want: want}).Error()
}

// A larger token waits for work in progress, work of the same token joins it, and smaller tokens are refused as soon as
// the larger one has come.
func TestGateKeepsOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fence.NewGate(new(fence.Memory))
		old, same := startWork(t.Context(), g, "a", 5), startWork(t.Context(), g, "a", 5)
		expect(t, "the first", old.is(), "inside")
		expect(t, "the same token", same.is(), "inside")
		expect(t, "a smaller one", startWork(t.Context(), g, "a", 4).is(), staleText("a", 5, 4))
		next := startWork(t.Context(), g, "a", 7)
		expect(t, "a larger one", next.is(), "waiting")
		between := startWork(t.Context(), g, "a", 6)
		expect(t, "one in between", between.is(), staleText("a", 7, 6))
		expect(t, "the first token again", startWork(t.Context(), g, "a", 5).is(), staleText("a", 7, 5))
		other := startWork(t.Context(), g, "b", 1)
		expect(t, "another name", other.is(), "inside")
		close(old.finish)
		expect(t, "the larger one, while one is left", next.is(), "waiting")
		close(same.finish)
		expect(t, "the larger one", next.is(), "inside")
		close(next.finish)
		close(other.finish)
		synctest.Wait()
		expect(t, "a smaller one, when all have gone", startWork(t.Context(), g, "a", 6).is(), staleText("a", 7, 6))
	})
}

// Of several waiting tokens the largest comes next, and the others are refused.
func TestLargestTokenComesNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fence.NewGate(new(fence.Memory))
		old := startWork(t.Context(), g, "a", 1)
		expect(t, "the first", old.is(), "inside")
		two := startWork(t.Context(), g, "a", 2)
		expect(t, "the second", two.is(), "waiting")
		three := startWork(t.Context(), g, "a", 3)
		expect(t, "the third", three.is(), "waiting")
		expect(t, "the second, when there is a third", two.is(), staleText("a", 3, 2))
		close(old.finish)
		expect(t, "the third", three.is(), "inside")
		close(three.finish)
	})
}

// Work that is given up while it waits gets the cause, and was not done.
func TestGivingUpAtAGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fence.NewGate(new(fence.Memory))
		old := startWork(t.Context(), g, "a", 1)
		expect(t, "the first", old.is(), "inside")
		ctx, cancel := context.WithCancelCause(t.Context())
		next := startWork(ctx, g, "a", 2)
		expect(t, "the next", next.is(), "waiting")
		cancel(errors.New("lease lost"))
		expect(t, "the next, without its lease", next.is(), "lease lost")
		close(old.finish)
		third := startWork(t.Context(), g, "a", 3)
		expect(t, "a third", third.is(), "inside")
		close(third.finish)
	})
}

// marksFunc is Marks with a function of the test.
type marksFunc func(ctx context.Context, name string, token uint64) error

func (f marksFunc) Raise(ctx context.Context, name string, token uint64) error {
	return f(ctx, name, token)
}

// If the mark could not be raised, nothing is done, and the error has the reason.
func TestGateWhoseMarksFail(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for _, c := range []struct{ marks, want error }{
		{away, fence.ErrUnavailable},
		{away, away},
		{&fence.StaleError{Name: "a", Have: 9, Want: 1}, fence.ErrStale},
		{fence.Valid("", 1), fence.ErrInvalid},
	} {
		g := fence.NewGate(marksFunc(func(context.Context, string, uint64) error { return c.marks }))
		err := g.Do(t.Context(), "a", 1, func(context.Context) error {
			t.Errorf("%v: the work has begun", c.marks)
			return nil
		})
		if !errors.Is(err, c.want) || errors.Is(err, fence.ErrUnavailable) && !errors.Is(err, away) {
			t.Errorf("%v: %v, want %v", c.marks, err, c.want)
		}
	}
}

// Work gets its name and token. What it returns or panics with is passed on, and leaves the gate open.
func TestWorkBehindAGate(t *testing.T) {
	t.Parallel()
	g := fence.NewGate(new(fence.Memory))
	mine := errors.New("mine")
	err := g.Do(t.Context(), "a", 3, func(ctx context.Context) error {
		name, token, ok := fence.FromContext(ctx)
		if name != "a" || token != 3 || !ok {
			t.Errorf("FromContext: %q, %d, %v", name, token, ok)
		}
		return mine
	})
	if !errors.Is(err, mine) {
		t.Errorf("Do: %v", err)
	}
	func() {
		defer func() { recover() }()
		_ = g.Do(t.Context(), "a", 4, func(context.Context) error { panic(mine) })
	}()
	if err := g.Do(t.Context(), "a", 5, func(context.Context) error { return nil }); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

// With many at once, no two tokens work at the same time, tokens only grow, and nothing is left in memory.
func TestGateUnderLoad(t *testing.T) {
	t.Parallel()
	g := fence.NewGate(new(fence.Memory))
	const names, goroutines, rounds = 3, 8, 200
	var inside [names]struct {
		mu          sync.Mutex
		token, last uint64
		n           int
	}
	var next, done atomic.Uint64
	var work sync.WaitGroup
	for range goroutines {
		work.Go(func() {
			for range rounds {
				token := next.Add(1)
				at := &inside[token%names]
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(token%5)*time.Millisecond)
				err := g.Do(ctx, fmt.Sprint("name ", token%names), token, func(context.Context) error {
					at.mu.Lock()
					if at.n > 0 && at.token != token || token < at.last {
						t.Errorf("token %d is inside with %d, after %d", token, at.token, at.last)
					}
					at.token, at.last = token, token
					at.n++
					at.mu.Unlock()
					done.Add(1)
					at.mu.Lock()
					at.n--
					at.mu.Unlock()
					return nil
				})
				cancel()
				if err != nil && !errors.Is(err, fence.ErrStale) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Do: %v", err)
				}
			}
		})
	}
	work.Wait()
	if done.Load() == 0 {
		t.Error("nothing was done")
	}
	if n := fence.Waiting(g); n != 0 {
		t.Errorf("the gate remembers %d names", n)
	}
}
