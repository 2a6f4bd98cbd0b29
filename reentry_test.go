package leasehold_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

func TestTheHolderGetsTheSameLockAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		outer := take(t, c.Mutex("order").Lock)
		requests := e.sent()
		for name, again := range map[string]asker{
			"Lock":    c.Mutex("order").Lock, // another Mutex of the same name
			"TryLock": c.Mutex("order").TryLock,
			"write":   c.RWMutex("order").Lock,
			"RLock":   c.RWMutex("order").RLock, // the write lock once more
		} {
			inner, err := again(outer.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if inner.Token() != outer.Token() {
				t.Errorf("%s: token %d, want that of the holder, %d", name, inner.Token(), outer.Token())
			}
			wantCause(t, inner.Context(), nil)
			release(t, inner)
		}
		if n := e.sent() - requests; n != 0 {
			t.Errorf("re-entry has sent %d requests", n)
		}
		_, err := newClient(t, e).Mutex("order").TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld) // the outer lease is still held
		release(t, outer)
		take(t, newClient(t, e).Mutex("order").TryLock)
	})
}

func TestTheLastReleaseFreesTheName(t *testing.T) {
	for name, order := range map[string][]int{"inner first": {2, 1, 0}, "outer first": {0, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				m, other := newClient(t, e).Mutex("order"), newClient(t, e).Mutex("order")
				leases := []*leasehold.Lease{take(t, m.Lock)}
				for range 2 {
					inner, err := m.Lock(leases[len(leases)-1].Context())
					expect(t, err, nil)
					leases = append(leases, inner)
				}
				for _, i := range order {
					_, err := other.TryLock(t.Context())
					expect(t, err, leasehold.ErrHeld)
					release(t, leases[i])
				}
				take(t, other.TryLock)
			})
		})
	}
}

// Work that still runs under an inner lease is not interrupted by the release of the outer one if it has its own
// context.
func TestAnInnerLeaseOutlivesTheOuter(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		outer := take(t, m.Lock)
		inner, err := m.Lock(context.WithoutCancel(outer.Context()))
		expect(t, err, nil)
		release(t, outer)
		wantCause(t, inner.Context(), nil)
		expect(t, inner.Extend(t.Context(), time.Minute), nil)
		release(t, inner)
		wantCause(t, inner.Context(), leasehold.ErrReleased)
	})
}

// A released lease has ended, even while another one keeps the name held.
func TestAReleasedInnerLeaseIsOver(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		outer := take(t, m.Lock)
		inner, err := m.Lock(outer.Context())
		expect(t, err, nil)
		ctx := inner.Context()
		release(t, inner)
		wantCause(t, ctx, leasehold.ErrReleased)
		expect(t, inner.Extend(t.Context(), time.Minute), leasehold.ErrReleased)
		_, err = m.Lock(context.WithoutCancel(ctx))
		expect(t, err, leasehold.ErrReleased)
		wantCause(t, outer.Context(), nil)
		release(t, outer)
	})
}

func TestNestedDo(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		depth := 0
		var deeper func(context.Context, *leasehold.Lease) error
		deeper = func(ctx context.Context, _ *leasehold.Lease) error {
			if depth++; depth == 5 {
				return nil
			}
			return m.Do(ctx, deeper)
		}
		expect(t, m.Do(t.Context(), deeper), nil)
		if depth != 5 || e.sent("Take") != 1 || e.sent("Release") != 1 {
			t.Fatalf("depth %d, %d takes, %d releases", depth, e.sent("Take"), e.sent("Release"))
		}
	})
}

func TestReentryTravelsThroughDerivedContexts(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		type key struct{}
		m := newClient(t, e).Mutex("order")
		outer := take(t, m.Lock)
		ctx, cancel := context.WithTimeout(context.WithValue(outer.Context(), key{}, 1), time.Minute)
		defer cancel()
		inner, err := m.Lock(ctx)
		expect(t, err, nil)
		innermost, err := m.Lock(inner.Context())
		expect(t, err, nil)
		if innermost.Context().Value(key{}) != 1 {
			t.Error("the context of a lease hides values of the caller's")
		}
		for _, l := range []*leasehold.Lease{innermost, inner, outer} {
			release(t, l)
		}
	})
}

func TestContextsOfTwoLocksNest(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		a, b := c.Mutex("a"), c.Mutex("b")
		first := take(t, a.Lock)
		second, err := b.Lock(first.Context())
		expect(t, err, nil)
		if second.Token() == first.Token() || e.sent("Take") != 2 {
			t.Fatal("another name must be asked for")
		}
		for _, m := range []*leasehold.Mutex{a, b} {
			inner, err := m.Lock(second.Context())
			expect(t, err, nil)
			wantCause(t, inner.Context(), nil)
			release(t, inner)
		}
		lose(t, e, driver.Lock, first)
		wantCause(t, second.Context(), leasehold.ErrLost) // work under both has ended
		release(t, second)                                // but this one was held to the end
	})
}

func TestReentryNeedsTheSameClient(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		lease := take(t, newClient(t, e).Mutex("order").Lock)
		_, err := newClient(t, e).Mutex("order").TryLock(lease.Context())
		expect(t, err, leasehold.ErrHeld)
	})
}

// Without the context of the lease, the holder is a caller like any other.
func TestReentryNeedsTheContext(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		take(t, m.Lock)
		_, err := m.TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
	})
}

func TestAReaderCannotBecomeAWriter(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		m := c.RWMutex("order")
		reader := take(t, m.RLock)
		for _, f := range []asker{m.Lock, m.TryLock, c.Mutex("order").Lock} {
			_, err := f(reader.Context())
			expect(t, err, leasehold.ErrUpgrade)
		}
		again, err := m.RLock(reader.Context())
		expect(t, err, nil)
		release(t, again)
		release(t, reader)

		writer := take(t, m.Lock)
		expect(t, writer.Downgrade(t.Context()), nil)
		_, err = m.Lock(writer.Context())
		expect(t, err, leasehold.ErrUpgrade)
		other, err := c.RWMutex("other").Lock(writer.Context()) // another name is no upgrade
		expect(t, err, nil)
		release(t, other)
		release(t, writer)
	})
}

// A reader may enter again although a writer waits: otherwise it would wait for itself.
func TestAReaderReentersPastAWaitingWriter(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).RWMutex("order")
		reader := take(t, m.RLock)
		writer := start(t.Context(), newClient(t, e).RWMutex("order").Lock)
		writer.wantWaiting(t)
		inner, err := m.RLock(reader.Context())
		expect(t, err, nil)
		release(t, reader)
		writer.wantWaiting(t)
		release(t, inner)
		release(t, writer.wantValue(t))
	})
}

func TestALostLeaseCannotBeReentered(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		m := c.Mutex("order")
		outer := take(t, m.Lock)
		inner, err := m.Lock(outer.Context())
		expect(t, err, nil)
		lose(t, e, driver.Lock, outer)
		wantCause(t, inner.Context(), leasehold.ErrLost)
		for _, ctx := range []context.Context{outer.Context(), context.WithoutCancel(inner.Context())} {
			_, err = m.Lock(ctx)
			expect(t, err, leasehold.ErrLost)
		}
		expect(t, inner.Release(), leasehold.ErrLost)
		expect(t, outer.Release(), leasehold.ErrLost)
		take(t, m.TryLock)
	})
}

// Many leases come and go under one that is held for long: none of them may leave anything behind in it. Not parallel:
// it measures memory.
func TestReentryLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newClient(t, newSpy()).Mutex("order")
		outer := take(t, m.Lock)
		const rounds = 5000
		before := heap()
		for range rounds {
			expect(t, m.Do(outer.Context(), func(context.Context, *leasehold.Lease) error { return nil }), nil)
		}
		if grown := int64(heap()) - int64(before); grown > rounds*50 {
			t.Errorf("%d re-entries left %d KiB behind", rounds, grown>>10)
		}
		release(t, outer)
	})
}
