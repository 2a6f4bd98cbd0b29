package leasehold_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// Ending a lease cancels its contexts one after the other. Nobody may see in between that the lease has ended and its
// context has not. Here cancelling blocks at the context of another lease, which was entered again.
func TestContextIsDoneOnceTheLeaseIsOver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(driver.Engine, *leasehold.Client, *leasehold.Lease)
		want error
	}{
		"deadline": {func(driver.Engine, *leasehold.Client, *leasehold.Lease) { time.Sleep(ttl) }, leasehold.ErrLost},
		"refused": {func(e driver.Engine, _ *leasehold.Client, l *leasehold.Lease) {
			admin.New(e).ForceRelease(context.Background(), driver.Lock, l.Name(), l.Token())
			l.Extend(context.Background(), ttl)
		}, leasehold.ErrLost},
		"closed": {func(_ driver.Engine, c *leasehold.Client, _ *leasehold.Lease) { c.Close() }, leasehold.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := memory.New()
				c := newClient(t, e)
				m := c.Mutex("order", leasehold.TTL(ttl), leasehold.NoRenew())
				same := context.WithoutCancel(take(t, m.Lock).Context())
				held := &blockingContext{Context: same, until: make(chan struct{})}
				enter := func(ctx context.Context) *leasehold.Lease {
					return take(t, func(context.Context) (*leasehold.Lease, error) { return m.Lock(ctx) })
				}
				_ = enter(held).Context()
				lease := enter(same)
				ctx := lease.Context()
				derived, cancel := context.WithCancel(ctx)
				defer cancel()

				held.up.Store(true)
				defer close(held.until)
				go test.end(e, c, lease)
				synctest.Wait() // it is blocked, or asleep until the deadline
				if test.want == leasehold.ErrLost {
					time.Sleep(ttl)
				}
				expect(t, lease.Err(), test.want)
				wantCause(t, derived, test.want)
				wantDone(t, ctx, test.want)
			})
		})
	}
}

// blockingContext is a context that blocks callers of Done, which cancelling a context that is derived from it does.
type blockingContext struct {
	context.Context
	up    atomic.Bool
	until chan struct{}
}

func (h *blockingContext) Done() <-chan struct{} {
	if h.up.Load() {
		<-h.until
	}
	return h.Context.Done()
}

func wantDone(t *testing.T, ctx context.Context, cause error) {
	t.Helper()
	select {
	case <-ctx.Done():
	default:
		t.Fatal("the context is not done")
	}
	wantCause(t, ctx, cause)
}

// If no timer has run yet, reading a context checks the deadlines itself, also those of leases that it was derived
// from.
func TestContextLooksAtTheClock(t *testing.T) {
	t.Parallel()
	look := map[string]func(context.Context) bool{
		"Err":     func(ctx context.Context) bool { return ctx.Err() != nil },
		"Cause":   func(ctx context.Context) bool { return context.Cause(ctx) != nil },
		"derived": func(ctx context.Context) bool { return derived(ctx).Err() != nil },
		"Done": func(ctx context.Context) bool {
			select {
			case <-ctx.Done():
				return true
			default:
				return false
			}
		},
	}
	for name, over := range look {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				late := &lateObserver{until: make(chan struct{})}
				defer close(late.until)
				c := newClient(t, memory.New(), leasehold.WithObserver(late))
				contexts := map[string][]context.Context{}
				for _, name := range []string{"a", "b"} {
					lease := take(t, c.Mutex(name, leasehold.TTL(ttl), leasehold.NoRenew()).Lock)
					inner, err := c.Mutex("inner " + name).Lock(derived(lease.Context()))
					expect(t, err, nil)
					contexts[name] = []context.Context{inner.Context(), lease.Context()}
				}
				time.Sleep(ttl) // both have the same deadline, and whoever ends them is blocked at the first
				synctest.Wait()
				delete(contexts, late.lost)
				for name := range contexts {
					for _, ctx := range contexts[name] {
						if !over(ctx) {
							t.Error("a context has not ended")
						}
					}
				}
			})
		})
	}
}

func derived(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// lateObserver blocks whoever ends a lease.
type lateObserver struct {
	lost  string // the first
	until chan struct{}
}

func (l *lateObserver) ObserveLost(e leasehold.Lost) {
	if l.lost == "" {
		l.lost = e.Name
		<-l.until
	}
}
