package drivertest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// animal is an engine that breaks the contract in one way.
type animal struct {
	name string
	// caught is the check that must fail.
	caught string
	broken func(*memory.Engine) driver.Engine
}

// zooVariable names the animal that TestAnimal is to test, in a process of its own.
const zooVariable = "DRIVERTEST_ZOO"

// The suite must fail on each broken engine, now and later.
func TestZoo(t *testing.T) {
	t.Parallel()
	if os.Getenv(zooVariable) != "" {
		t.Skip("this process tests one animal")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	expectFailure := func(t *testing.T, name, caught string) {
		t.Helper()
		path := "TestAnimal/" + caught
		pattern := "^" + strings.ReplaceAll(path, "/", "$/^") + "$"
		cmd := exec.CommandContext(t.Context(), self, "-test.run", pattern, "-test.timeout", "1m")
		cmd.Env = append(os.Environ(), zooVariable+"="+name)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: "+path+" ") {
			t.Errorf("%s has not caught it: %v\n%s", caught, err, out)
		}
	}
	for _, a := range slices.Concat(zoo, latecomers, misnamers, crowds, operators) {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			expectFailure(t, a.name, a.caught)
		})
	}
	t.Run(amnesia, func(t *testing.T) {
		t.Parallel()
		expectFailure(t, amnesia, "Tokens/GrowOverCrash")
	})
}

// TestAnimal runs the suite on one broken engine. TestZoo starts it.
func TestAnimal(t *testing.T) {
	name := os.Getenv(zooVariable)
	if name == "" {
		t.Skip("TestZoo runs this in a process of its own")
	}
	h := crashing(0)
	if name != amnesia {
		all := slices.Concat(zoo, latecomers, misnamers, crowds, operators)
		i := slices.IndexFunc(all, func(a animal) bool { return a.name == name })
		if i < 0 {
			t.Fatalf("no animal %q", name)
		}
		h = on(t, all[i].broken)
	}
	h.Patience = time.Second
	drivertest.Run(t, h)
}

const amnesia = "forgets its counter in a crash"

// An engine that keeps its counter passes.
func TestCrash(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, crashing(1_000_000))
}

// crashing returns a harness for a memory engine that loses its locks in a crash, and of
// whose tokens the given number is skipped then.
func crashing(skip uint64) drivertest.Harness {
	return drivertest.Harness{
		TTL: 200 * time.Millisecond,
		Start: func(*testing.T) drivertest.Place {
			var crashes atomic.Uint64
			var server atomic.Pointer[memory.Engine]
			server.Store(memory.New())
			return drivertest.Place{
				Open: func(*testing.T) driver.Engine {
					base := skip * crashes.Load()
					return changed{server.Load(), func(g *driver.Grant) { g.Token += base }, nil}
				},
				Restart: func(*testing.T) {
					crashes.Add(1)
					server.Store(memory.New())
				},
			}
		},
	}
}
