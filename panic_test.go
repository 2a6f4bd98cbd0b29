package leasehold_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// panicsEnv makes the test binary the program that panics, and says how.
const panicsEnv = "LEASEHOLD_TEST_PANICS"

// breaking is an engine that panics during its second take, and prints the owners that it was told.
type breaking struct {
	*memory.Engine
	takes int
}

func (e *breaking) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	fmt.Println("owner", r.Owner)
	if e.takes++; e.takes == 2 {
		panic("the engine breaks")
	}
	return e.Engine.Take(ctx, r)
}

// panics ends this process with a panic while it holds a lock.
func panics(how string) {
	e := &breaking{Engine: memory.New()}
	client := leasehold.New(e)
	lease, err := client.Mutex("a").Lock(context.Background())
	if err != nil {
		panic(err)
	}
	switch how {
	case "lease":
		panic(lease)
	case "error":
		panic(fmt.Errorf("mistake: %v %+v %s", lease, client, lease.Context()))
	case "engine":
		_, _ = client.Mutex("b").Lock(context.Background())
	}
}

// Whatever panics, the text and the traces of all goroutines contain no owner.
func TestPanicsPrintNoOwner(t *testing.T) {
	t.Parallel()
	if how := os.Getenv(panicsEnv); how != "" {
		panics(how)
		return
	}
	for _, how := range []string{"lease", "error", "engine"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestPanicsPrintNoOwner$")
			cmd.Env = append(os.Environ(), panicsEnv+"="+how, "GOTRACEBACK=system")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			// the testing package writes its part of a panic to either
			trace := stderr.String() + withoutOwners(string(out))
			if err == nil || !strings.Contains(trace, "panic: ") || !strings.Contains(trace, "goroutine ") {
				t.Fatalf("it did not panic: %v, %s, %s", err, out, trace)
			}
			owners := 0
			for line := range strings.Lines(string(out)) {
				if owner, is := strings.CutPrefix(strings.TrimSpace(line), "owner "); is {
					owners++
					if strings.Contains(trace, owner) || strings.Contains(trace, fmt.Sprintf("%x", owner)) {
						t.Errorf("an owner is printed: %s", trace)
					}
				}
			}
			if owners == 0 {
				t.Errorf("no owner is known: %s", out)
			}
		})
	}
}

// withoutOwners removes the lines that print an owner.
func withoutOwners(out string) (rest string) {
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "owner ") {
			rest += line
		}
	}
	return rest
}
