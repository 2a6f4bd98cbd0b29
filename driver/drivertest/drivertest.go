// Package drivertest holds the suite that every engine passes, and [Faulty], an
// engine that misbehaves as a network does.
//
// An engine's own tests call [Run]:
//
//	func TestEngine(t *testing.T) {
//		drivertest.Run(t, drivertest.Harness{
//			Start: func(t *testing.T) drivertest.Place {
//				file := filepath.Join(t.TempDir(), "locks.db")
//				return drivertest.Place{Open: func(t *testing.T) driver.Engine { ... }}
//			},
//		})
//	}
//
// What an engine cannot do, by its [driver.Abilities], is skipped with the reason.
package drivertest

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Harness says how to get at the engine that is tested.
type Harness struct {
	// Start gives a test a place where locks are kept. Places may be one and the same
	// server, since each test uses names of its own; but what Place.Advance and
	// Place.Restart do must not be felt in other places, since tests run in parallel.
	// Start cleans up with t.Cleanup. Required.
	Start func(t *testing.T) Place

	// TTL is the shortest lease with which the engine can be tested: many times a
	// request's time on a busy machine. Tests wait for it to end, in real time
	// unless Place.Advance is set. Zero means one second.
	TTL time.Duration

	// Late is how long after the end of a lease somebody else has the lock at the latest. Zero means a quarter of TTL. Engines whose holders remove what has
	// ended take longer on a busy machine than those whose servers look at the time.
	Late time.Duration

	// Patience is how long a test waits for what must happen before it fails. Zero
	// means 15 seconds.
	Patience time.Duration

	// Known are the codes of what is critical about the places on purpose, and what an Examiner may so find.
	Known []string
}

// Place is somewhere locks are kept: a server, a file, a piece of memory.
type Place struct {
	// Open opens another engine over the same locks, as another process would. A
	// test calls it several times. The engine is closed with t.Cleanup. Required.
	Open func(t *testing.T) driver.Engine

	// Restart crashes what keeps the locks, without a chance to say goodbye, and
	// starts it anew with what it had written down. Engines opened before are not
	// used any more. Locks may be lost (the engine's documentation says when), but tokens
	// must go on growing. Nil skips the tests that need it, for a place that ends with
	// its process.
	Restart func(t *testing.T)

	// Advance makes the engine's clock go on by d. Nil means that the clock is real,
	// and tests wait.
	Advance func(d time.Duration)
}

// concern is a group of checks about one thing.
type concern struct {
	name   string
	checks []check
}

type check struct {
	name string
	run  func(*env)
}

// concerns is the suite.
var concerns = []concern{
	{"Exclusion", exclusion},
	{"Queue", queue},
	{"Waiters", waiters},
	{"Tokens", tokens},
	{"Expiry", expiry},
	{"Renewal", renewal},
	{"Release", release},
	{"Unknown", unknown},
	{"HeldBack", heldBack},
	{"Owners", owners},
	{"Shared", shared},
	{"Permits", permits},
	{"Latch", latch},
	{"Force", force},
	{"All", all},
	{"Raise", raise},
	{"Votes", votes},
	{"Listing", listing},
	{"Paging", paging},
	{"Walk", walk},
	{"Leaks", leaks},
	{"Records", records},
	{"Examine", examine},
	{"Names", names},
	{"Stress", stress},
	{"Leak", leak},
	{"Printing", printing},
}

// Run tests that an engine keeps the contract of package driver. Its tests run in
// parallel.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.Start == nil {
		t.Fatal("drivertest: Harness.Start is missing: set it to a function that gives a place")
	}
	if h.TTL == 0 {
		h.TTL = time.Second
	}
	if h.Late == 0 {
		h.Late = h.TTL / 4
	}
	if h.Patience == 0 {
		h.Patience = 15 * time.Second
	}
	for _, c := range concerns {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, check := range c.checks {
				t.Run(check.name, func(t *testing.T) {
					t.Parallel()
					check.run(newEnv(t, h))
				})
			}
		})
	}
}
