package leasehold_test

import (
	"context"
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

// keep keeps a context, and nothing else, until over is closed.
func keep(over <-chan struct{}, ctx context.Context) {
	go func() { <-over; runtime.KeepAlive(ctx) }()
}
