// Package register counts who holds what while many clients contend for locks, and finds where holds overlap. Clients
// tell it when they enter, after they were granted a lock, and when they leave, before they release it: in Go with
// [Register.Enter] and [Register.Leave], others over TCP. What it finds is therefore certain, unless a lease has ended
// during the hold.
//
// Each line of a connection is answered with "ok", or with what is wrong with the line:
//
//	enter NAME WHO exclusive|shared|permit WEIGHT TOKEN
//	leave NAME WHO
//
// TOKEN is a fencing token, or "-".
package register

import (
	"fmt"
	"slices"
	"sync"
)

// Mode says which holds of a name exclude each other.
type Mode string

const (
	// Exclusive holds exclude all others.
	Exclusive Mode = "exclusive"
	// Shared holds exclude exclusive ones.
	Shared Mode = "shared"
	// Permit holds have a weight. Together they have at most the capacity of the name.
	Permit Mode = "permit"
)

// Hold is what one client holds.
type Hold struct {
	Name, Who string
	Mode      Mode
	Weight    int   // of a permit
	Token     int64 // a fencing token, or 0
}

// maxOverlaps is how many overlaps are kept.
const maxOverlaps = 20

// Register counts holds. It is safe for concurrent use.
type Register struct {
	mu       sync.Mutex
	names    map[string]*name
	overlaps []string
}

// name is what is known of one name.
type name struct {
	capacity int
	holds    map[string]Hold // by who has them
	token    int64           // the largest one
	holders  map[string]int  // how often each has held it
}

// New returns a register in which nobody holds anything.
func New() *Register { return &Register{names: map[string]*name{}} }

// SetCapacity sets how many permits a name has. Default: 1.
func (r *Register) SetCapacity(of string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name(of).capacity = n
}

func (r *Register) name(of string) *name {
	n := r.names[of]
	if n == nil {
		n = &name{capacity: 1, holds: map[string]Hold{}, holders: map[string]int{}}
		r.names[of] = n
	}
	return n
}

// Enter says that somebody holds something from now on. It fails if they hold it already.
func (r *Register) Enter(h Hold) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.name(h.Name)
	if _, holds := n.holds[h.Who]; holds {
		return fmt.Errorf("register: %s holds %s already", h.Who, h.Name)
	}
	used := h.Weight
	for _, other := range n.holds {
		if h.Mode == Exclusive || other.Mode == Exclusive {
			r.overlap("%s: %s (%s) has entered while %s (%s) holds it", h.Name, h.Who, h.Mode, other.Who, other.Mode)
		}
		used += other.Weight
	}
	if h.Mode == Permit && used > n.capacity {
		r.overlap("%s: %s has entered, and %d permits of %d are held", h.Name, h.Who, used, n.capacity)
	}
	if h.Token != 0 && h.Token <= n.token {
		r.overlap("%s: %s has entered with token %d, after token %d", h.Name, h.Who, h.Token, n.token)
	}
	n.token = max(n.token, h.Token)
	n.holds[h.Who] = h
	n.holders[h.Who]++
	return nil
}

// Leave says that somebody no longer holds something. It fails if they do not hold it.
func (r *Register) Leave(of, who string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.name(of)
	if _, holds := n.holds[who]; !holds {
		return fmt.Errorf("register: %s does not hold %s", who, of)
	}
	delete(n.holds, who)
	return nil
}

// Gone says that the holds of somebody have ended without a release, such as those of a process that was killed, and
// whose leases have passed.
func (r *Register) Gone(is func(who string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.names {
		for who := range n.holds {
			if is(who) {
				delete(n.holds, who)
			}
		}
	}
}

func (r *Register) overlap(format string, args ...any) {
	if len(r.overlaps) < maxOverlaps {
		r.overlaps = append(r.overlaps, fmt.Sprintf(format, args...))
	}
}

// Overlaps returns what was wrong until now: holds that overlap, too many permits, and tokens that do not grow.
func (r *Register) Overlaps() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.overlaps)
}

// Holds returns how often each client has held a name.
func (r *Register) Holds(of string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]int{}
	for who, n := range r.name(of).holders {
		all[who] = n
	}
	return all
}
