// Package drivertest holds the suite that every engine passes, and [Faulty], an
// engine that misbehaves as a network does.
//
// An engine's own tests call [Run]:
//
//	func TestEngine(t *testing.T) {
//		drivertest.Run(t, drivertest.Harness{
//			Start: func(t *testing.T) drivertest.Environment {
//				file := filepath.Join(t.TempDir(), "locks.db")
//				return drivertest.Environment{Open: func(t *testing.T) driver.Engine { ... }}
//			},
//		})
//	}
//
// Tests of what an engine cannot do, as its [driver.Abilities] say, are skipped.
package drivertest

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Harness gives the suite access to the engine under test.
type Harness struct {
	// Start returns an environment for one test. All environments may use the same server, since
	// each test uses names of its own. But the effects of Environment.Advance and Environment.Restart must not
	// reach other environments, since tests run in parallel. Start cleans up with t.Cleanup.
	// Required.
	Start func(t *testing.T) Environment

	// TTL is the shortest lease with which the engine can be tested: many times the duration of a
	// request on a busy machine. Tests wait for leases to end, in real time unless Environment.Advance is
	// set. Zero means one second.
	TTL time.Duration

	// ExpiryDelay is how long after the end of a lease that was not renewed the name must be free. Zero means a quarter
	// of TTL. Engines whose clients remove expired leases need more on a busy machine than those whose servers compare
	// times.
	ExpiryDelay time.Duration

	// Patience is how long a test waits for an expected event before it fails. Zero means 15
	// seconds.
	Patience time.Duration

	// KnownFindings lists the codes of critical findings that the test servers cause on purpose. An
	// Examiner may report them.
	KnownFindings []string

	// Refuses reports whether the engine must refuse a name, with a [driver.ErrInvalid] and before it sends anything:
	// for keys that others have defined, for example. Nil means that it refuses none.
	Refuses func(name string) bool

	// Lacks says of checks which part of the contract the engine cannot keep, and why: by their names, such as
	// "Force/ForceReleaseFrees". They are skipped. It is for engines on a protocol of others, which has no place for
	// what these checks look for. Nil means that there are none.
	Lacks map[string]string
}

// Environment is the environment of one test: a server, a file, or a piece of memory that keeps locks.
type Environment struct {
	// Open opens another engine over the same locks, as another process would. A test calls it
	// several times. Open closes the engine with t.Cleanup. Required.
	Open func(t *testing.T) driver.Engine

	// Restart crashes the server without a clean shutdown, and starts it again with what it had
	// stored. Engines opened before are not used any more. Locks may be lost (the engine's
	// documentation says when), but tokens must keep growing. Nil skips the tests that need it, for
	// locks that live in the process.
	Restart func(t *testing.T)

	// Advance moves the engine's clock forward by d. Nil means that the clock is real, and tests
	// wait.
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

// concerns is the whole suite.
var concerns = []concern{
	{"Exclusion", exclusion},
	{"Queue", queue},
	{"Waiters", waiters},
	{"Recall", recall},
	{"Exchange", exchange},
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
	{"Data", data},
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

// Run tests that an engine fulfils the contract of package driver. Its tests run in parallel.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.Start == nil {
		t.Fatal("drivertest: Harness.Start is missing: set it to a function that returns an environment")
	}
	if h.TTL == 0 {
		h.TTL = time.Second
	}
	if h.ExpiryDelay == 0 {
		h.ExpiryDelay = h.TTL / 4
	}
	if h.Patience == 0 {
		h.Patience = 15 * time.Second
	}
	if name := h.unknownLack(); name != "" {
		t.Fatalf("drivertest: Harness.Lacks names %q, which is no check: give a name such as Force/ForceReleaseFrees",
			name)
	}
	for _, c := range concerns {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, check := range c.checks {
				t.Run(check.name, func(t *testing.T) {
					t.Parallel()
					if why := h.Lacks[c.name+"/"+check.name]; why != "" {
						t.Skip(why)
					}
					check.run(newEnv(t, h))
				})
			}
		})
	}
}

// unknownLack returns a name in Lacks that is that of no check.
func (h Harness) unknownLack() string {
	known := map[string]bool{}
	for _, c := range concerns {
		for _, check := range c.checks {
			known[c.name+"/"+check.name] = true
		}
	}
	for name := range h.Lacks {
		if !known[name] {
			return name
		}
	}
	return ""
}
