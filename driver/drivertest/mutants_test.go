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

// mutant is an engine that breaks the contract in one way.
type mutant struct {
	name string
	// foundBy is the check that must fail.
	foundBy string
	wrap    func(*memory.Engine) driver.Engine
}

// mutantVariable names the mutant that TestMutant is to test, in a process of its own.
const mutantVariable = "DRIVERTEST_MUTANT"

// The suite must fail on each broken engine, today and after every change.
func TestSuiteFindsMutants(t *testing.T) {
	t.Parallel()
	if os.Getenv(mutantVariable) != "" {
		t.Skip("this process tests one mutant")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	expectFailure := func(t *testing.T, name, caught string) {
		t.Helper()
		path := "TestMutant/" + caught
		pattern := "^" + strings.ReplaceAll(path, "/", "$/^") + "$"
		cmd := exec.CommandContext(t.Context(), self, "-test.run", pattern, "-test.timeout", "1m")
		cmd.Env = append(os.Environ(), mutantVariable+"="+name)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: "+path+" ") {
			t.Errorf("%s has not found it: %v\n%s", caught, err, out)
		}
	}
	for _, a := range slices.Concat(mutants, heldBackMutants, ownerMutants, waiterMutants, operatorMutants,
		dataMutants) {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			expectFailure(t, a.name, a.foundBy)
		})
	}
	t.Run(amnesia, func(t *testing.T) {
		t.Parallel()
		expectFailure(t, amnesia, "Tokens/GrowOverCrash")
	})
}

// TestMutant runs the suite on one broken engine. TestSuiteFindsMutants starts it.
func TestMutant(t *testing.T) {
	name := os.Getenv(mutantVariable)
	if name == "" {
		t.Skip("TestSuiteFindsMutants runs this in a process of its own")
	}
	h := crashing(0)
	if name != amnesia {
		all := slices.Concat(mutants, heldBackMutants, ownerMutants, waiterMutants, operatorMutants,
			dataMutants)
		i := slices.IndexFunc(all, func(a mutant) bool { return a.name == name })
		if i < 0 {
			t.Fatalf("no mutant %q", name)
		}
		h = on(t, all[i].wrap)
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

// crashing returns a harness for a memory engine that loses its locks in a crash, and then skips
// the given number of tokens.
func crashing(skip uint64) drivertest.Harness {
	return drivertest.Harness{
		TTL:   200 * time.Millisecond,
		Lacks: map[string]string{"Data/DataSurvivesACrash": "nothing survives"},
		Start: func(*testing.T) drivertest.Environment {
			var crashes atomic.Uint64
			var server atomic.Pointer[memory.Engine]
			server.Store(memory.New())
			return drivertest.Environment{
				Open: func(*testing.T) driver.Engine {
					base := skip * crashes.Load()
					return changedEngine{server.Load(), func(g *driver.Grant) { g.Token += base }, nil}
				},
				Restart: func(*testing.T) {
					crashes.Add(1)
					server.Store(memory.New())
				},
			}
		},
	}
}
