package redisson

import (
	"testing"
	"time"
)

// Programs in both languages share each kind of object, once with Java and once with Go in the first role. They are one
// test, as each Java process takes seconds to start.
func TestBothSidesShareEachObject(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBoth(t, version)
			b.directions(t, b.testWaiters) // before the servers are busy
			for claim, test := range map[string]func(p *pair){
				"HoldsExclude":         testExclusion,
				"TheWatchdogKeepsIt":   testWatchdog,
				"ForceUnlockIsNoticed": testForceUnlock,
			} {
				t.Run(claim, func(t *testing.T) {
					t.Parallel()
					b.directions(t, func(t *testing.T, holder, rival *side) {
						t.Parallel()
						for _, k := range kinds {
							t.Run(k.String(), func(t *testing.T) {
								t.Parallel()
								test(b.newPair(t, k, holder, rival))
							})
						}
					})
				})
			}
			b.directions(t, func(t *testing.T, holder, rival *side) {
				t.Parallel()
				b.testDeath(t, version, holder, rival)
			})
		})
	}
}

// What one side holds, the other does not get, until the holder has unlocked as often as it has locked.
func testExclusion(p *pair) {
	p.must(p.a.Lock(p.Context()))
	p.mustTry(p.b, false)
	if !p.once {
		p.mustTry(p.a, true)
		p.must(p.a.Unlock(p.Context()))
		p.mustTry(p.b, false)
	}
	p.must(p.a.Unlock(p.Context()))
	p.mustTry(p.b, true)
	if !p.anonymous && p.kind.holds != "permits" {
		p.mustBeGone(p.a)
	}
	p.must(p.b.Unlock(p.Context()))
}

// The watchdog of a holder keeps the lock from the other side for three times its timeout. Permits of Java have no
// watchdog: without a lease, they are held for ever.
func testWatchdog(p *pair) {
	if p.anonymous {
		p.Skip("it has no lease")
	}
	p.must(p.a.Lock(p.Context()))
	for end := time.Now().Add(3 * watchdog); time.Now().Before(end); time.Sleep(watchdog / 10) {
		p.mustTry(p.b, false)
	}
	p.must(p.a.Unlock(p.Context()))
	p.mustTry(p.b, true)
	p.must(p.b.Unlock(p.Context()))
}

// Either side may take a lock away from the other. Waiters notice at once, and the holder when it is to be renewed, or
// unlocks.
func testForceUnlock(p *pair) {
	if p.a.isSemaphore() {
		p.Skip("Redisson has no method for it")
	}
	held, waiter, force := *p.a, *p.b, *p.b
	held.patient, waiter.patient = true, true // nobody asks again
	waiter.thread += " that waits"
	if p.kind.wants == "read" { // readers do not hold it
		force.kind = "write"
	} else if p.kind.wants != p.kind.holds {
		force.kind = p.kind.holds
	}
	p.must(held.Lock(p.Context()))
	locked := make(chan error, 1)
	go func() { locked <- waiter.Lock(p.Context()) }()
	time.Sleep(asleep)
	if ok, err := force.ForceUnlock(p.Context()); !ok || err != nil {
		p.Fatalf("forceUnlock: %v, %v", ok, err)
	}
	err, came := comes(p.T, locked, woken)
	p.must(err)
	if !came {
		p.Fatal("the waiter was not woken")
	}
	p.mustBeGone(&held)
	p.must(waiter.Unlock(p.Context()))

	p.must(p.a.Lock(p.Context()))
	if ok, err := force.ForceUnlock(p.Context()); !ok || err != nil {
		p.Fatalf("forceUnlock: %v, %v", ok, err)
	}
	if p.a.side.language == "Go" { // Java logs it
		cause, err := p.a.call(p.Context(), "lost")
		p.must(err)
		p.Logf("the holder was told: %v", cause)
	}
	p.mustTry(p.b, true)
	p.mustBeGone(p.a)
	p.must(p.b.Unlock(p.Context()))
}
