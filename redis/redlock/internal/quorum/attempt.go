package quorum

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// attempt is what one owner has under way on the nodes. Those that are slow may still grant something when the owner has failed, or has released
// already: that must go again. Such a release must not meet what the same owner takes later on the same node.
type attempt struct {
	key   driver.Key
	owner string
	ttl   time.Duration

	mu      sync.Mutex
	uses    int             // requests and ballots under way
	kept    bool            // the owner will come again, or be released
	waits   bool            // it waits
	gone    bool            // the owner has been released
	over    bool            // that, or its ballot has failed
	floor   uint64          // the least token of the ballot that was won; nodes that are slow still have to answer to it
	granted []*node         // nodes that have granted something to the ballot, or may have
	drops   map[*node]*drop // nodes where the owner has been released after a ballot
}

// drop is a release after a ballot that has failed.
type drop struct {
	before *drop
	sent   time.Time
	done   chan struct{}
	doubt  time.Time // when the last was sent that may still be under way; zero if none is
}

// attempts are those of which something is under way.
type attempts struct {
	mu      sync.Mutex
	of      map[string]*attempt // by owner
	waiting map[driver.Key]int
}

// begin returns the attempt of an owner, with one more use.
func (s *attempts) begin(r driver.Request) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*attempt{}
	}
	a := s.of[r.Owner]
	if a == nil {
		a = &attempt{key: r.Key, owner: r.Owner, ttl: r.TTL}
		s.of[r.Owner] = a
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.uses++
	a.kept = a.kept || r.Join
	a.gone = false
	return a
}

// vote begins another ballot.
func (a *attempt) vote() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over, a.granted = a.gone, nil
}

// use counts one more use.
func (a *attempt) use() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.uses++
}

// end ends a use, and forgets what has none.
func (s *attempts) end(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.uses--; a.uses == 0 && !a.kept && s.of[a.owner] == a {
		delete(s.of, a.owner)
	}
}

// release ends all that an owner has under way. What is granted to it from now on is dropped.
func (s *attempts) release(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of[owner]
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone, a.over, a.kept = true, true, false
	s.waits(a, false)
	if a.uses == 0 {
		delete(s.of, owner)
	}
}

// took takes in the answer of a node to a take. If the attempt is over, and the node may have granted something, it returns the drop that the caller must
// begin: from this moment on, no take of the owner may be sent to the node before that is done.
func (a *attempt) took(n *node, err error) *drop {
	if driver.HadNoEffect(err) {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return a.dropping(n)
	}
	a.granted = append(a.granted, n)
	return nil
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

// least is the least token that the owner may be granted. One who holds already is asked for the same again.
func (a *attempt) least() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.floor != 0 {
		return a.floor
	}
	return uint64(time.Now().UnixMicro())
}

// lose ends the ballot of an attempt, and returns the nodes that may have granted it something.
func (a *attempt) lose() []*node {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over, a.floor = true, 0
	granted := a.granted
	a.granted = nil
	return granted
}

// errSpoilt is for a node where a release of the same owner may still be under way, and would undo what is taken there now.
var errSpoilt = driver.NoEffect(fmt.Errorf("no answer to the release before"))

// clear waits until no release of the owner is under way to a node. If one had no answer, it sends another, for the next who asks.
func (e *Engine) clear(ctx context.Context, a *attempt, n *node) error {
	a.mu.Lock()
	d := a.drops[n]
	a.mu.Unlock()
	if d == nil {
		return nil
	}
	select {
	case <-d.done:
		if d.doubt.IsZero() {
			return nil
		}
		e.drop(n, a)
		return errSpoilt
	case <-ctx.Done():
		return driver.NoEffect(ctx.Err())
	}
}

// drop releases what an attempt has left on a node, in the background. If the node does not answer, the name is free there when the ttl has
// passed, and one node makes no majority.
func (e *Engine) drop(n *node, a *attempt) {
	a.mu.Lock()
	d := a.dropping(n)
	a.mu.Unlock()
	e.dropAs(d, n, a)
}

// dropAs does what has been noted by dropping.
func (e *Engine) dropAs(d *drop, n *node, a *attempt) {
	a.use()
	begun := e.begin(func() {
		defer e.attempts.end(a)
		defer close(d.done)
		err := e.request(context.Background(), n, func(ctx context.Context) error {
			return n.Release(ctx, driver.Release{Hold: driver.Hold{Key: a.key, Owner: a.owner}})
		})
		if d.before != nil {
			<-d.before.done
			d.doubt = d.before.doubt
		}
		switch answered := err == nil || driver.IsNo(err); {
		case !answered && !driver.HadNoEffect(err):
			d.doubt = d.sent
		case answered && d.sent.Sub(d.doubt) > a.ttl: // if the node answers so long after, nothing from before is under way any more
			d.doubt = time.Time{}
		}
		d.before = nil
	})
	if !begun {
		close(d.done)
		e.attempts.end(a)
	}
}

// dropping notes that a release begins. mu is held.
func (a *attempt) dropping(n *node) *drop {
	if a.drops == nil {
		a.drops = map[*node]*drop{}
	}
	d := &drop{sent: time.Now(), done: make(chan struct{}), before: a.drops[n]}
	a.drops[n] = d
	return d
}
