package redis

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// waiter is an owner of this process that has joined, or is about to.
type waiter struct {
	key    driver.Key
	ticket uint64 // stands for the owner in messages, which others might read
	wake   chan struct{}

	// These belong to the ears.
	channel *channel // where it listens
	over    bool     // it needs to hear nothing any more

	mu    sync.Mutex
	way   string         // how it is told: P, S, or - if it must look itself
	sent  driver.Instant // before the latest request that the server has answered; if it has answered none, before the first
	since driver.Instant // from when no.ends counts
	no    refusal        // the latest answer; its server time is 0 if there is none yet
	looks int            // how often it has looked at a holder of another kind
	gift  *gift
	hint  bool // the next look has been put off; there is nothing to see yet
	doubt bool // messages may have been lost since the latest answer
}

// gift is a grant by another's release.
type gift struct {
	grant   driver.Grant
	waiting bool // others wait behind
}

// Waiters look from time to time, in case that a message was lost or somebody has died.
const (
	// lookEvery is the longest time between two looks.
	lookEvery = 10 * time.Second
	// leastLook is the shortest time between two looks of a waiter that is not the head of the queue.
	leastLook = time.Second
	// poll is how often the head looks that nobody will tell: at first, and in the end.
	pollFirst, pollLast = 20 * time.Millisecond, 250 * time.Millisecond
	// pollForeign is the latter behind a client of another kind. Those seldom wait longer than this before they try again.
	pollForeign = 80 * time.Millisecond
)

func (w *waiter) poke() {
	select {
	case w.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// told notes how the waiter will be told of a grant.
func (w *waiter) told(way string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.way = way
}

// how is how the waiter will be told of a grant.
func (w *waiter) how() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.way
}

// asks notes that a request is about to be sent, after which there may be a grant. The grant may be that of an earlier one
// without an answer.
func (w *waiter) asks(sent driver.Instant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent.IsZero() {
		w.sent = sent
	}
}

// refused notes what a request that was sent at some moment has been answered.
func (w *waiter) refused(sent driver.Instant, no refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent, w.since, w.no, w.hint, w.doubt = sent, driver.Now(), no, false, false
	if no.foreign {
		w.looks++
	} else {
		w.looks = 0
	}
}

// hasBeenRefused reports whether the server has told the waiter to wait.
func (w *waiter) hasBeenRefused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.no.server != 0
}

// leads notes that the waiter is the head of the queue now, behind a lease that ends in so long.
func (w *waiter) leads(ends time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since, w.no.ends, w.no.place, w.no.foreign, w.hint = driver.Now(), ends, 0, false, true
	w.poke()
}

// given notes a grant that was made at a moment of the server's clock, in milliseconds.
func (w *waiter) given(g gift, at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.poke()
	g.grant.Start = w.sent
	if w.no.server != 0 {
		// As much time has passed here since the latest answer as on the server, but for the drift of the clocks.
		passed := time.Duration(at-w.no.server) * time.Millisecond
		surely := passed - passed/100 - 2*time.Millisecond
		if w.doubt || passed < 0 || surely > driver.Now().Since(w.sent) {
			// The message was held up, and the server has refused since; or it is another clock, or was set. A look tells.
			w.hint = false
			return
		}
		g.grant.Start = w.sent.Add(max(surely, 0))
	}
	w.gift = &g
}

// unheard notes that messages may have been lost: the waiter looks at once. Until it has, one that comes may be that of another
// server, with another clock.
func (w *waiter) unheard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubt, w.hint = true, false
	w.poke()
}

// taken returns the grant, if there is one.
func (w *waiter) taken() *gift {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gift
}

// hinted reports whether the waiter was woken only to look at another time.
func (w *waiter) hinted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	hint := w.hint
	w.hint = false
	return hint
}

// pause is for how long to wait for a message before looking.
func (w *waiter) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	place := max(w.no.place, 0)
	d := lookEvery
	if w.no.ends >= 0 {
		d = w.no.ends + time.Millisecond
	}
	switch {
	case w.way == "-":
		d = min(d+jitter(5*time.Millisecond), pollFirst*time.Duration(min(place+1, 12)), pollLast)
		d += jitter(d)
	case place > 0:
		d = max(d+min(time.Duration(place)*20*time.Millisecond, time.Second), leastLook)
		d += jitter(d / 8)
	case w.no.foreign:
		d = min(d, pollFirst<<min(w.looks, 10)/2, pollForeign)
		d += jitter(d / 2)
	default:
		d += jitter(5 * time.Millisecond)
	}
	return max(min(d, lookEvery)-driver.Now().Since(w.since), time.Millisecond)
}

// jitter is a random time below d, so that many do not look at the same moment.
func jitter(d time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(d) + 1)) }

// waiters are the owners of this process that wait, or may.
type waiters struct {
	leave func(*waiter)
	count atomic.Int32 // how many there are

	mu       sync.Mutex
	byOwner  map[string]*waiter
	byTicket map[uint64]*waiter
	byKey    map[driver.Key]int // how many wait
	last     uint64
}

func (ws *waiters) init(leave func(*waiter)) {
	ws.leave, ws.byOwner, ws.byTicket, ws.byKey = leave, map[string]*waiter{}, map[uint64]*waiter{}, map[driver.Key]int{}
}

func (ws *waiters) find(owner string) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byOwner[owner]
}

// want reports whether anybody of this process waits for a key.
func (ws *waiters) want(k driver.Key) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byKey[k] > 0
}

func (ws *waiters) ticket(n uint64) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byTicket[n]
}

// add returns the waiter of an owner, a new one if there is none.
func (ws *waiters) add(owner string, k driver.Key) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.byOwner[owner]
	if w == nil {
		ws.last++
		w = &waiter{key: k, ticket: ws.last, wake: make(chan struct{}, 1)}
		ws.byOwner[owner], ws.byTicket[w.ticket] = w, w
		ws.byKey[k]++
		ws.count.Add(1)
	}
	return w
}

// forget drops the waiter of an owner, if there is one.
func (ws *waiters) forget(owner string) {
	if ws.count.Load() == 0 {
		return
	}
	ws.mu.Lock()
	w := ws.byOwner[owner]
	if w != nil {
		ws.count.Add(-1)
		delete(ws.byOwner, owner)
		delete(ws.byTicket, w.ticket)
		if ws.byKey[w.key]--; ws.byKey[w.key] == 0 {
			delete(ws.byKey, w.key)
		}
	}
	ws.mu.Unlock()
	if w != nil {
		ws.leave(w)
	}
}
