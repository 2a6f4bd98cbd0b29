package quorum

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// attempt is what one owner has under way on the nodes. Those that are slow may still grant something when the owner has failed, or has released
// already: that must go again. Such a release must not meet what the same owner takes later on the same node.
type attempt struct {
	key   driver.Key
	owner string
	ttl   time.Duration

	uses atomic.Int32 // requests and ballots under way

	mu    sync.Mutex
	kept  bool    // the owner will come again, or be released
	waits bool    // it waits
	gone  bool    // the owner has been released
	over  bool    // that, or its ballot has failed
	floor uint64  // the least token of the ballot that was won; nodes that are slow still have to answer to it
	on    []trace // by node
}

// trace is what an attempt has under way on one node, or may have left there.
type trace struct {
	asked   int   // takes under way
	granted bool  // the node has granted something to the ballot, or may have
	tell    *poll // of the release of the owner, which came while the node was still asked; nil if there was none

	drops int           // releases under way after a ballot that has failed
	doubt time.Time     // when the last of them was sent that may still be under way, although it has failed; zero if none may
	clear chan struct{} // closed when no drop is under way; nil if nobody waits for that
}

// attempts are those of which something is under way.
type attempts struct {
	mu      sync.Mutex
	of      map[string]*attempt // by owner
	waiting map[driver.Key]int
}

// begin returns the attempt of an owner, with one more use.
func (s *attempts) begin(r driver.Request, nodes int) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*attempt{}
	}
	a := s.of[r.Owner]
	if a == nil {
		a = &attempt{key: r.Key, owner: r.Owner, ttl: r.TTL, on: make([]trace, nodes)}
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
	if a.uses.Load() == 0 && !a.kept && s.of[a.owner] == a {
		delete(s.of, a.owner)
	}
}

// release ends all that an owner has under way. What is granted to it from now on is dropped. It returns the nodes that have no take under way. The
// others may not be asked for a release now, which could overtake it; they are added to what the poll waits for. waited is true of an owner that has given up
// waiting.
func (s *attempts) release(owner string, p *poll, nodes []*node) (quiet []*node, waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of[owner]
	if a == nil {
		return nodes, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	waited = a.waits
	a.gone, a.over, a.kept = true, true, false
	s.waits(a, false)
	if a.uses.Load() == 0 {
		delete(s.of, owner)
	}
	quiet = make([]*node, 0, len(nodes))
	for _, n := range nodes {
		if t := &a.on[n.index]; t.asked > 0 {
			t.tell = p
			p.pending++
		} else {
			quiet = append(quiet, n)
		}
	}
	return quiet, waited
}

// released reports whether the owner has been released.
func (a *attempt) released() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone
}

// win reports whether the attempt may become a lease: nobody has released the owner meanwhile.
func (s *attempts) win(a *attempt, floor uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept, a.floor = false, floor
	s.waits(a, false)
	return !a.over
}

// wait notes that the owner waits from now on, unless it has been released.
func (s *attempts) wait(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	s.waits(a, !a.gone)
}

// forget lets go of an owner that was told to give up before it waits: nobody releases what has had no effect.
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

// vote begins another ballot, and returns the least token that the owner may be granted.
func (a *attempt) vote() uint64 {
	a.mu.Lock()
	a.over = a.gone
	for i := range a.on {
		a.on[i].granted = false
	}
	a.mu.Unlock()
	return a.least()
}

// least is the least token that the owner may be granted. One who holds already is asked for the same again; all others for one that is larger than any that
// a node can have forgotten.
func (a *attempt) least() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.floor, uint64(time.Now().UnixMicro()))
}

// lose ends the ballot of an attempt, and reports for each node whether it may have granted it something.
func (a *attempt) lose() (granted []bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over, a.floor = true, 0
	granted = make([]bool, len(a.on))
	for i := range a.on {
		granted[i], a.on[i].granted = a.on[i].granted, false
	}
	return granted
}

// ask notes that a take is sent to a node, and reports false if a release that is under way there, or may be, must be waited for first.
func (a *attempt) ask(n *node) (clear bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &a.on[n.index]
	t.asked++
	return t.drops == 0 && t.doubt.IsZero()
}

// took takes in the answer of a node to a take. If the attempt is over, and the node may have granted something, drop is true: the caller must begin a drop, and
// from this moment on, no take of the owner may be sent to the node before that is done. tell wants to know the outcome of that. Its release
// is not for this take alone: the owner may also hold or wait there since before.
func (a *attempt) took(n *node, err error) (drop bool, tell *poll) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &a.on[n.index]
	if t.asked--; t.asked == 0 {
		tell, t.tell = t.tell, nil
	}
	none := driver.HadNoEffect(err)
	if a.over && (tell != nil || !none) {
		t.drops++
		return true, tell
	}
	t.granted = t.granted || !none
	return false, nil
}
