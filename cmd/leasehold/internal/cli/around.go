//go:build unix

package cli

import (
	"encoding/json"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/driver"
)

// heldVariable is where a run tells those inside of it what it holds, and what those around it hold.
const heldVariable = "LEASEHOLD_HELD"

// around is what one run around this process has told that it holds. The variable may outlive the run, and may name a lock on another
// engine. So it is believed only if the engine says that this very process holds the name with this token.
type around struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Token uint64 `json:"token"`
	PID   int    `json:"pid"`
}

// allAround reads what the runs around this process have told, the outermost first.
func allAround() ([]around, error) {
	text := os.Getenv(heldVariable)
	if text == "" {
		return nil, nil
	}
	var all []around
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, exit.Errorf(exit.Usage, "the environment variable %s is not as leasehold run sets it: unset it", heldVariable)
	}
	return all, nil
}

// holder returns what the run holds, if it is among what the engine has found.
func (o around) holder(found []leasehold.Status) (leasehold.Holder, bool) {
	for _, s := range found {
		at := slices.IndexFunc(s.Holders, func(h leasehold.Holder) bool { return h.Token == o.Token && o.is(h.Holder) })
		if s.Kind.String() == o.Kind && s.Name == o.Name && at >= 0 {
			return s.Holders[at], true
		}
	}
	return leasehold.Holder{}, false
}

// is reports whether the text about a holder is that of the run, and the run still there: a lock may stay taken after its end.
func (o around) is(holder string) bool {
	p, ok := leasehold.ParseHolder(holder)
	if !ok || p.PID != o.PID {
		return false
	}
	host, err := os.Hostname()
	return err != nil || host != p.Host || o.alive()
}

// alive reports whether there is a process with the number of the run.
func (o around) alive() bool { return !errors.Is(unix.Kill(o.PID, 0), unix.ESRCH) }

// told is the value of the variable for a program under the lease.
func (j job) told(l *leasehold.Lease) (string, error) {
	all, err := allAround()
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(o around) bool { return !o.alive() }) // or the variable might grow for ever
	text, err := json.Marshal(append(all, around{Kind: j.kind().String(), Name: j.name, Token: l.Token(), PID: os.Getpid()}))
	return string(text), err
}

// kind is what the flags ask for.
func (j job) kind() leasehold.Kind {
	if j.given("slots") {
		return leasehold.KindSemaphore
	}
	return leasehold.KindLock
}

// outer is what the runs around this process hold of one name.
type outer struct {
	pid     int // of the innermost; 0: none holds any of it
	permits int
	write   bool // one of them holds the write lock
}

// heldAround asks the engine, unless nobody around has told anything of the name, what the runs around this process hold of it.
func heldAround(found func() ([]leasehold.Status, error), kind leasehold.Kind, name string) (outer, error) {
	var sum outer
	all, err := allAround()
	all = slices.DeleteFunc(all, func(o around) bool { return o.Name != name || kind != 0 && o.Kind != kind.String() })
	if err != nil || len(all) == 0 {
		return sum, err
	}
	status, err := found()
	for _, o := range all {
		if h, ok := o.holder(status); ok {
			sum.pid, sum.permits = o.PID, sum.permits+h.Weight
			sum.write = sum.write || h.Mode == driver.Exclusive
		}
	}
	return sum, err
}
