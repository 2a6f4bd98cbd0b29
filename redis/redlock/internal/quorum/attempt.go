package quorum

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// attempt is one call, and what it has under way on the nodes. It asks them as the owner that the caller has given it; and as a fresh
// one for each ballot that follows one after which something was released. Such a release may arrive at any later time, so it must not name an owner that
// may hold.
type attempt struct {
	key   driver.Key
	owner string // that the caller has given it
	place string // in a queue
	nodes int

	uses atomic.Int32 // requests and ballots under way

	mu     sync.Mutex
	kept   bool     // the caller will come again, or release it
	waits  bool     // it waits
	gone   bool     // it has been released
	stale  bool     // it has been released, and it is not known whether it was of use
	now    *owner   // as which it asks
	former []*owner // as which it has asked before, as long as something of them may be left
	first  owner    // room for the first of them
}

// attempts are those of which something is under way.
type attempts struct {
	mu      sync.Mutex
	of      map[string]*attempt // by the owner that the caller has given, and by the one as which it asks now
	waiting map[driver.Key]int
	stale   []stale // the oldest first
}

// stale is an attempt that is forgotten after a while, whether or not its release is repeated.
type stale struct {
	attempt *attempt
	since   time.Time
}

const (
	mostFormer = 16   // owners of one attempt of which something may be left
	mostStale  = 4096 // attempts whose release had no answer
)

// begin returns the attempt of an owner, with one more use.
func (s *attempts) begin(r driver.Request, nodes int) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*attempt{}
	}
	a := s.of[r.Owner]
	if a == nil {
		a = &attempt{key: r.Key, owner: r.Owner, place: cmp.Or(r.Place, r.Owner), nodes: nodes}
		a.first = owner{attempt: a, name: r.Owner, on: make([]trace, nodes)}
		a.now = &a.first
		s.of[r.Owner] = a
	}
	a.use()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = a.kept || r.Join
	a.gone = false
	return a
}

// use counts one more use.
func (a *attempt) use() { a.uses.Add(1) }

// end ends a use, and forgets what has none.
func (s *attempts) end(a *attempt) {
	if a.uses.Add(-1) > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	s.remove(a)
}

// remove forgets an attempt that has no use. Both mutexes are held.
func (s *attempts) remove(a *attempt) {
	if a.uses.Load() > 0 || a.kept {
		return
	}
	for _, name := range [...]string{a.owner, a.now.name} {
		if s.of[name] == a {
			delete(s.of, name)
		}
	}
}

// asker returns the owner as which an attempt asks next: a fresh one, if the one before is over, or may be as soon as a node answers late.
func (s *attempts) asker(a *attempt) *owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if asks := !a.now.lost && !a.now.over && !a.now.named; asks || a.gone || !a.now.mayEnd() {
		a.now.lost = false
		return a.now
	}
	a.now.over = true
	if a.now.name != a.owner {
		delete(s.of, a.now.name)
	}
	former := []*owner{a.now}
	for _, o := range a.former {
		if o.leaves() && len(former) < mostFormer {
			former = append(former, o)
		}
	}
	a.former = former
	a.now = &owner{attempt: a, name: fresh(), on: make([]trace, a.nodes)}
	s.of[a.now.name] = a
	return a.now
}

// win reports whether what an owner was granted may become a lease: nobody has released it meanwhile. floor is the least token of the ballot.
func (s *attempts) win(o *owner, floor uint64) bool {
	a := o.attempt
	s.mu.Lock()
	defer s.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept, o.floor = false, floor
	s.waits(a, false)
	return !o.over
}

// release ends all that an attempt has under way. What is granted to it from now on is dropped. It tells the poll whom to release, and returns the nodes that
// have no take under way. The others may not be asked for a release now, which could overtake it; they are added to what the poll waits for. waited is true
// of an attempt that has given up waiting. The attempt is nil if nothing is known of it; otherwise released must be called.
func (s *attempts) release(r driver.Release, p *poll, nodes []*node) (a *attempt, quiet []*node, waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.release = r
	a = s.of[r.Owner]
	if a == nil {
		return nil, nodes, false
	}
	a.use()
	a.mu.Lock()
	defer a.mu.Unlock()
	o := a.now
	p.release.Owner, p.release.Place = o.name, a.place
	waited = a.waits
	a.gone, o.over = true, true
	a.kept = o.name != r.Owner // if this has no answer, it is repeated, and must mean the same owner
	s.waits(a, false)
	quiet = make([]*node, 0, len(nodes))
	for _, n := range nodes {
		if t := &o.on[n.index]; t.asked > 0 {
			t.tell = p
			p.pending++
		} else {
			quiet = append(quiet, n)
		}
	}
	return a, quiet, waited
}

// released takes in what became of a release, and ends its use of the attempt. Those of which this is not known are remembered, but not for ever.
func (s *attempts) released(a *attempt, known bool, maxTTL time.Duration) {
	if a == nil {
		return
	}
	s.mu.Lock()
	a.mu.Lock()
	switch {
	case !a.gone: // the caller has come again
	case known:
		a.kept = false
	case a.kept && !a.stale:
		a.stale = true
		s.stale = append(s.stale, stale{a, time.Now()})
	}
	a.mu.Unlock()
	for len(s.stale) > 0 && (len(s.stale) > mostStale || time.Since(s.stale[0].since) > maxTTL) {
		old := s.stale[0].attempt
		s.stale = s.stale[1:]
		old.mu.Lock()
		if old.stale = false; old.gone {
			old.kept = false
			s.remove(old)
		}
		old.mu.Unlock()
	}
	s.mu.Unlock()
	s.end(a)
}

// wait notes that an attempt waits from now on, unless it has been released.
func (s *attempts) wait(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	s.waits(a, !a.gone)
}

// forget lets go of an attempt that was told to give up before it waits: nobody releases what has had no effect.
func (s *attempts) forget(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = a.kept && a.waits
}

// waits counts who waits. Both mutexes are held.
func (s *attempts) waits(a *attempt, does bool) {
	if a.waits == does {
		return
	}
	a.waits = does
	if s.waiting == nil {
		s.waiting = map[driver.Key]int{}
	}
	if does {
		s.waiting[a.key]++
	} else if s.waiting[a.key]--; s.waiting[a.key] == 0 {
		delete(s.waiting, a.key)
	}
}

// wanted reports whether somebody waits.
func (s *attempts) wanted(k driver.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting[k] > 0
}
