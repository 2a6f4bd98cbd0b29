package quorum

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// call is one call of the library's user, and what it has in flight on the nodes. It first asks them as the owner that
// the caller has given it. After a ballot of which something had to be released, it asks as a new owner: such a release
// may arrive at any later time, so it must not name an owner that may hold.
type call struct {
	key   driver.Key
	owner string // given by the caller
	place string // in a queue
	nodes int

	uses atomic.Int32 // requests and ballots in flight

	mu             sync.Mutex
	expected       bool     // the caller will come again, or release it
	waiting        bool     // it waits
	released       bool     // the caller has released it
	releaseUnknown bool     // it is in calls.unknownReleases
	current        *owner   // as which it asks now
	past           []*owner // as which it asked before, while nodes may still have something of them
	firstOwner     owner    // saves an allocation: current points to it at first
}

// calls are those that have something in flight.
type calls struct {
	mu              sync.Mutex
	byOwner         map[string]*call // by the owner that the caller has given, and by the current one
	waiting         map[driver.Key]int
	unknownReleases []unknownRelease // the oldest first
}

// unknownRelease is a call whose release had no answer. It is forgotten after a while, even if the release is never
// repeated.
type unknownRelease struct {
	call  *call
	since time.Time
}

const (
	maxPastOwners      = 16   // of one call
	maxUnknownReleases = 4096 // of one engine
)

// begin returns the call of an owner, with one more use.
func (s *calls) begin(r driver.Request, nodes int) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byOwner == nil {
		s.byOwner = map[string]*call{}
	}
	c := s.byOwner[r.Owner]
	if c == nil {
		c = &call{key: r.Key, owner: r.Owner, place: cmp.Or(r.Place, r.Owner), nodes: nodes}
		c.firstOwner = owner{call: c, name: r.Owner, nodes: make([]nodeState, nodes)}
		c.current = &c.firstOwner
		s.byOwner[r.Owner] = c
	}
	c.addUse()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = c.expected || r.Join
	c.released = false
	return c
}

// addUse counts one more use.
func (c *call) addUse() { c.uses.Add(1) }

// endUse ends a use, and forgets a call that has none.
func (s *calls) endUse(c *call) {
	if c.uses.Add(-1) > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	s.removeLocked(c)
}

// removeLocked forgets a call that has no use and is not expected. Both mutexes are held.
func (s *calls) removeLocked(c *call) {
	if c.uses.Load() > 0 || c.expected {
		return
	}
	for _, name := range [...]string{c.owner, c.current.name} {
		if s.byOwner[name] == c {
			delete(s.byOwner, name)
		}
	}
}

// usableOwner returns an owner that the next take may name: the current one, or a new one if that is spent, or would be
// as soon as a node answers late.
func (s *calls) usableOwner(c *call) *owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if asks := !c.current.ballotLost && !c.current.spent && !c.current.spentByNode; asks ||
		c.released || !c.current.mayBeSpentLocked() {
		c.current.ballotLost = false
		return c.current
	}
	return s.replaceOwnerLocked(c, newOwner())
}

// replaceOwnerLocked has a call ask as another owner from now on. Both mutexes are held.
func (s *calls) replaceOwnerLocked(c *call, name string) *owner {
	c.current.spent = true
	if c.current.name != c.owner {
		delete(s.byOwner, c.current.name)
	}
	past := []*owner{c.current}
	for _, o := range c.past {
		if o.mayBeOnNodeLocked() && len(past) < maxPastOwners {
			past = append(past, o)
		}
	}
	c.past = past
	c.current = &owner{call: c, name: name, nodes: make([]nodeState, c.nodes)}
	s.byOwner[c.current.name] = c
	return c.current
}

// adopt has a call go on as an owner to which a name was passed for it. If the caller has released the call by now,
// that owner is spent.
func (s *calls) adopt(c *call, name string) *owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	o := s.replaceOwnerLocked(c, name)
	o.spent = c.released
	for i := range o.nodes {
		o.nodes[i].mayHold = true
	}
	return o
}

// acceptGrant reports whether the grant of a majority may become a lease: its owner must not have been released
// meanwhile. floor is the token floor of the ballot.
func (s *calls) acceptGrant(o *owner, floor uint64) bool {
	c := o.call
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected, o.floor = false, floor
	s.setWaitingLocked(c, false)
	return !o.spent
}

// beginRelease begins a release by the caller: what is granted to the call from now on is cleaned up. It sets what f
// releases, and returns the nodes that have no take in flight. The other nodes must not be asked for the release yet,
// as it could overtake the take; f waits for them, too. waited says that the call has given up waiting. The call is nil
// if nothing is known of it; otherwise endRelease must be called.
func (s *calls) beginRelease(r driver.Release, f *fanOut, nodes []*node) (c *call, idle []*node, waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.release = r
	c = s.byOwner[r.Owner]
	if c == nil {
		return nil, nodes, false
	}
	c.addUse()
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.current
	f.release.Owner, f.release.Place = o.name, c.place
	waited = c.waiting
	c.released, o.spent = true, true
	c.expected = o.name != r.Owner // a release without an answer is repeated, and must mean the same owner
	s.setWaitingLocked(c, false)
	idle = make([]*node, 0, len(nodes))
	for _, n := range nodes {
		if state := &o.nodes[n.index]; state.takes > 0 {
			state.pendingRelease = f
			f.pending++
		} else {
			idle = append(idle, n)
		}
	}
	return c, idle, waited
}

// endRelease ends the use that beginRelease has begun. A call whose release had no answer is remembered, but not for
// ever.
func (s *calls) endRelease(c *call, answered bool, maxTTL time.Duration) {
	if c == nil {
		return
	}
	s.mu.Lock()
	c.mu.Lock()
	switch {
	case !c.released: // the caller has come again
	case answered:
		c.expected = false
	case c.expected && !c.releaseUnknown:
		c.releaseUnknown = true
		s.unknownReleases = append(s.unknownReleases, unknownRelease{c, time.Now()})
	}
	c.mu.Unlock()
	for len(s.unknownReleases) > 0 &&
		(len(s.unknownReleases) > maxUnknownReleases || time.Since(s.unknownReleases[0].since) > maxTTL) {
		oldest := s.unknownReleases[0].call
		s.unknownReleases = s.unknownReleases[1:]
		oldest.mu.Lock()
		if oldest.releaseUnknown = false; oldest.released {
			oldest.expected = false
			s.removeLocked(oldest)
		}
		oldest.mu.Unlock()
	}
	s.mu.Unlock()
	s.endUse(c)
}

// noteWaiting notes that a call waits from now on, unless it has been released.
func (s *calls) noteWaiting(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	s.setWaitingLocked(c, !c.released)
}

// noteNoEffect notes that a take had no effect. Nobody releases that, so unless the call waits it is not
// expected again.
func (s *calls) noteNoEffect(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = c.expected && c.waiting
}

// setWaitingLocked counts waiting calls by key. Both mutexes are held.
func (s *calls) setWaitingLocked(c *call, waiting bool) {
	if c.waiting == waiting {
		return
	}
	c.waiting = waiting
	if s.waiting == nil {
		s.waiting = map[driver.Key]int{}
	}
	if waiting {
		s.waiting[c.key]++
	} else if s.waiting[c.key]--; s.waiting[c.key] == 0 {
		delete(s.waiting, c.key)
	}
}

// hasWaiter reports whether a call waits for the key.
func (s *calls) hasWaiter(k driver.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting[k] > 0
}
