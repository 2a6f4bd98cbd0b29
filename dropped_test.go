package leasehold_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// ownKey is a key of a context.
type ownKey struct{}

// Keeping the lease, its context, or a context that is derived from it means that the lease is not dropped, even if
// nothing else refers to it.
func TestLeasesInUseAreNotDropped(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		over := make(chan struct{})
		// a variable of the goroutine, which does not keep it
		got := func(l *leasehold.Lease, err error) *leasehold.Lease {
			expect(t, err, nil)
			return l
		}
		defer close(over)
		ways := map[string]func(*leasehold.Lease){
			"lease":   func(l *leasehold.Lease) { go func() { <-over; runtime.KeepAlive(l) }() },
			"release": func(l *leasehold.Lease) { go func() { defer l.Release(); <-over }() },
			"context": func(l *leasehold.Lease) { keep(over, l.Context()) },
			"values":  func(l *leasehold.Lease) { keep(over, context.WithValue(l.Context(), ownKey{}, "value")) },
			"derived": func(l *leasehold.Lease) {
				ctx, cancel := context.WithTimeout(l.Context(), time.Hour*24*365)
				go func() { defer cancel(); <-ctx.Done() }()
			},
			"after func": func(l *leasehold.Lease) { context.AfterFunc(l.Context(), func() {}) },
			"entered again": func(l *leasehold.Lease) {
				keep(over, got(c.Mutex(l.Name()).Lock(l.Context())).Context())
			},
			"entered and left": func(l *leasehold.Lease) {
				release(t, got(c.Mutex(l.Name()).Lock(l.Context())))
				keep(over, l.Context())
			},
		}
		for name, use := range ways {
			use(got(c.Mutex(name).Lock(t.Context())))
		}
		all, err := c.LockAll(t.Context(), "set 1", "set 2", "set 3")
		expect(t, err, nil)
		keep(over, all.Context())
		go c.Mutex("do").Do(t.Context(), func(context.Context, *leasehold.Lease) error { <-over; return nil })

		// The garbage collector runs when it likes, and not in the bubble's time: it has run when a dropped lease is
		// gone.
		_, err = c.Mutex("dropped").Lock(t.Context())
		expect(t, err, nil)
		for round, after := 0, 0; after < 6; round++ {
			runtime.GC()
			time.Sleep(leasehold.DefaultTTL / 3)
			gone, err := e.Engine.List(t.Context(), driver.Query{Name: "dropped"})
			expect(t, err, nil)
			if len(gone) == 0 {
				after++
			}
			if round == 2000 {
				t.Fatal("a lease that was dropped is still renewed")
			}
		}
		held, err := e.Engine.List(t.Context(), driver.Query{})
		expect(t, err, nil)
		names := map[string]bool{}
		for _, s := range held {
			names[s.Name] = true
		}
		for _, name := range []string{"set 1", "set 2", "set 3", "do"} {
			ways[name] = nil
		}
		for name := range ways {
			if !names[name] {
				t.Errorf("%q was taken for dropped", name)
			}
		}
	})
}

// Leases that are dropped together end together, whatever contexts they had: those of LockAll, whose contexts are
// nested, and one that was entered again.
func TestDroppedLeasesEndTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		var names []string
		for i := range 100 {
			names = append(names, fmt.Sprint("set ", i))
		}
		func() {
			_, err := c.LockAll(t.Context(), names...)
			expect(t, err, nil)
			outer, err := c.Mutex("entered").Lock(t.Context())
			expect(t, err, nil)
			inner, err := c.Mutex("entered").Lock(outer.Context())
			expect(t, err, nil)
			_ = inner.Context()
		}()
		ending := 0 // rounds since the first one was gone
		for round := 0; ; round++ {
			runtime.GC()
			time.Sleep(leasehold.DefaultTTL / 3)
			held, err := e.Engine.List(t.Context(), driver.Query{})
			expect(t, err, nil)
			if len(held) == 0 {
				return
			}
			if len(held) <= len(names) {
				ending++
			}
			if ending == 60 || round == 2000 {
				t.Fatalf("%d of %d leases that were dropped are still held, %d rounds after the first has ended",
					len(held), len(names)+1, ending)
			}
		}
	})
}

// A lease that was entered again is renewed while its handle is kept, whether the inner one is dropped, or released
// late and then forgotten.
func TestInnerLeasesThatAreGoneKeepTheOuterOne(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, inner *leasehold.Lease){
		"dropped": func(*testing.T, *leasehold.Lease) {},
		"released late": func(t *testing.T, inner *leasehold.Lease) {
			time.Sleep(leasehold.DefaultTTL) // until it is watched
			release(t, inner)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				c := newClient(t, e)
				outer := take(t, c.Mutex("a").Lock)
				func() {
					inner, err := c.Mutex("a").Lock(outer.Context())
					expect(t, err, nil)
					end(t, inner)
				}()
				_, err := c.Mutex("dropped").Lock(t.Context())
				expect(t, err, nil)
				for round, after := 0, 0; after < 6; round++ {
					runtime.GC()
					time.Sleep(leasehold.DefaultTTL / 3)
					expect(t, outer.Err(), nil)
					gone, err := e.Engine.List(t.Context(), driver.Query{Name: "dropped"})
					expect(t, err, nil)
					if len(gone) == 0 {
						after++ // the garbage collector has run
					}
					if round == 2000 {
						t.Fatal("the garbage collector finds nothing")
					}
				}
				runtime.KeepAlive(outer)
			})
		})
	}
}

// keep keeps a context, and nothing else, until over is closed.
func keep(over <-chan struct{}, ctx context.Context) {
	go func() { <-over; runtime.KeepAlive(ctx) }()
}
