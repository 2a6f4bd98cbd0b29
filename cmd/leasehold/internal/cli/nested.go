//go:build unix

package cli

import (
	"encoding/json"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/driver"
)

// heldVariable tells a program which locks its enclosing runs hold.
const heldVariable = "LEASEHOLD_HELD"

// enclosingRun is a lock that one enclosing run claims to hold. The variable may outlive the run, and may be about
// another engine, so it counts only if the engine says that this very process holds the name with this token.
type enclosingRun struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Token uint64 `json:"token"`
	PID   int    `json:"pid"`
}

// enclosingRuns reads the claims of all enclosing runs, the outermost first.
func enclosingRuns() ([]enclosingRun, error) {
	text := os.Getenv(heldVariable)
	if text == "" {
		return nil, nil
	}
	var all []enclosingRun
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, exit.Errorf(exit.Usage, "the environment variable %s is not as leasehold run sets it: unset it",
			heldVariable)
	}
	return all, nil
}

// holderIn returns the holder that is this run, if it is among the statuses.
func (o enclosingRun) holderIn(found []admin.Status) (admin.Holder, bool) {
	for _, s := range found {
		at := slices.IndexFunc(s.Holders, func(h admin.Holder) bool {
			return h.Token == o.Token && o.isHolder(h.Holder)
		})
		if s.Kind.String() == o.Kind && s.Name == o.Name && at >= 0 {
			return s.Holders[at], true
		}
	}
	return admin.Holder{}, false
}

// isHolder reports whether the holder text names this run and the run is still alive: a lock may stay taken after its
// end.
func (o enclosingRun) isHolder(holder string) bool {
	p, ok := admin.ParseHolder(holder)
	if !ok || p.PID != o.PID {
		return false
	}
	host, err := os.Hostname()
	return err != nil || host != p.Host || o.isAlive()
}

// isAlive reports whether a process with the run's process number exists.
func (o enclosingRun) isAlive() bool { return !errors.Is(unix.Kill(o.PID, 0), unix.ESRCH) }

// encodeHeld returns the variable's value for a program under the lease.
func (j job) encodeHeld(l *leasehold.Lease) (string, error) {
	all, err := enclosingRuns()
	if err != nil {
		return "", err
	}
	// Otherwise the variable might grow for ever.
	all = slices.DeleteFunc(all, func(o enclosingRun) bool { return !o.isAlive() })
	text, err := json.Marshal(append(all,
		enclosingRun{Kind: j.kind().String(), Name: j.name, Token: l.Token(), PID: os.Getpid()}))
	return string(text), err
}

// kind returns the kind of lock that the flags ask for.
func (j job) kind() driver.Kind {
	if j.given("slots") {
		return driver.Semaphore
	}
	return driver.Lock
}

// enclosingHold is what all enclosing runs together hold of one name.
type enclosingHold struct {
	pid       int // of the innermost run; 0: they hold none of it
	permits   int
	exclusive bool // one of them holds the write lock
}

// heldByEnclosing returns what the enclosing runs hold of one name. It asks the engine only if a run claims to hold the
// name.
func heldByEnclosing(
	found func() ([]admin.Status, error), kind driver.Kind, name string,
) (enclosingHold, error) {
	var sum enclosingHold
	all, err := enclosingRuns()
	all = slices.DeleteFunc(all, func(o enclosingRun) bool {
		return o.Name != name || kind != 0 && o.Kind != kind.String()
	})
	if err != nil || len(all) == 0 {
		return sum, err
	}
	status, err := found()
	for _, o := range all {
		if h, ok := o.holderIn(status); ok {
			sum.pid, sum.permits = o.PID, sum.permits+h.Weight
			sum.exclusive = sum.exclusive || h.Mode == driver.Exclusive
		}
	}
	return sum, err
}
