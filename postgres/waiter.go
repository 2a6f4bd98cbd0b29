package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Waiters look from time to time, in case that a message was lost or somebody has died.
const (
	// lookEvery is the longest time between two looks.
	lookEvery = 10 * time.Second
	// leastLook is the shortest time between two looks of one who is not the head of the queue.
	leastLook = time.Second
	// One whom nobody tells looks so often at first, and in the end.
	pollFirst, pollLast = 20 * time.Millisecond, 500 * time.Millisecond
	// guardFirst is how soon the head looks again where a lease has ended, but a transaction keeps its row, of whose end nobody tells.
	guardFirst = 10 * time.Millisecond
)

// waiter is an owner of this process that has joined, or is about to.
type waiter struct {
	key    driver.Key
	ticket int64 // stands for the owner in the message of a grant: others must neither guess it nor hear it before, or they could make one up
	wake   chan struct{}

	mu     sync.Mutex
	sent   driver.Instant // before the latest request that the server has refused; if it has refused none, before the first
	since  driver.Instant // from when the answer counts
	no     answer         // the latest refusal; its time is zero if there is none yet
	alone  bool           // nobody tells it
	looks  int            // how often it has looked since something has changed
	gift   *gift
	hinted bool // the next look has been put off: there is nothing to see yet
	doubt  bool // messages may have been lost since the latest answer
}

// gift is a grant by another's release.
type gift struct {
	grant   driver.Grant
	at      time.Time // by the clock of the server
	waiting bool      // others wait behind
}

func (w *waiter) poke() {
	select {
	case w.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// asks notes that a request is about to be sent, after which there may be a grant.
func (w *waiter) asks(sent driver.Instant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent.IsZero() {
		w.sent = sent
	}
}

// refused notes what a request that was sent at some moment has been answered.
func (w *waiter) refused(sent driver.Instant, no answer, alone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	if no.ahead != w.no.ahead {
		w.looks = 0 // it goes on
	}
	w.sent, w.since, w.no, w.alone, w.hinted, w.doubt = sent, driver.Now(), no, alone, false, false
}

// refusedBefore reports whether the waiter, if it is one, has been refused.
func (w *waiter) refusedBefore() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.no.at.IsZero()
}

// leads notes that the waiter is the head of the queue now, behind a lease that ends in so long.
func (w *waiter) leads(ends time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since, w.no.ends, w.no.known, w.no.ahead, w.looks, w.hinted = driver.Now(), ends, true, 0, 0, true
	w.poke()
}

// given notes a grant.
func (w *waiter) given(g gift) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.poke()
	w.hinted = false
	g.grant.Start = w.sent
	if !w.no.at.IsZero() {
		// As much time has passed here since the latest answer as on the server, but for the drift of the clocks.
		passed := g.at.Sub(w.no.at)
		surely := passed - passed/100 - 2*time.Millisecond
		if w.doubt || passed < 0 || surely > driver.Now().Since(w.sent) {
			return // the clock was set, or it is another server: a look tells
		}
		g.grant.Start = w.sent.Add(max(surely, 0))
	}
	if w.gift == nil { // whoever has heard of the first could make up another
		w.gift = &g
	}
}

// unheard notes that messages may have been lost: the waiter looks at once.
func (w *waiter) unheard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubt, w.hinted = true, false
	w.poke()
}

// taken returns the grant, if there is one, and whether the waiter was woken only to look at another time.
func (w *waiter) taken() (g *gift, hinted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	hinted, w.hinted = w.hinted, false
	return w.gift, hinted
}

// pause is for how long to wait for a message before looking.
func (w *waiter) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := lookEvery
	if w.no.known {
		d = w.no.ends + time.Millisecond
	}
	switch {
	case w.no.opens > 0:
		d = w.no.opens + jitter(50*time.Millisecond)
		if w.alone {
			d = min(d, time.Second) // to keep its place
		}
	case w.alone:
		d = min(max(d, guardFirst), pollFirst<<min(w.looks, 8)*time.Duration(min(w.no.ahead, 24)+1), pollLast)
		d += jitter(d / 4)
	case w.no.ahead > 0:
		d = max(d+min(time.Duration(w.no.ahead)*20*time.Millisecond, time.Second), leastLook)
		d += jitter(d / 8)
	case w.no.known && w.no.ends <= 0:
		d = min(guardFirst<<min(w.looks, 8), pollLast)
	default:
		d += jitter(5 * time.Millisecond)
	}
	return max(min(d, lookEvery)-driver.Now().Since(w.since), time.Millisecond)
}

// jitter is a random time up to d, so that many do not look at the same moment.
func jitter(d time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(d) + 1)) }

// waiters are the owners of this process that wait, or may.
type waiters struct {
	count atomic.Int32 // how many there are

	mu       sync.Mutex
	byOwner  map[string]*waiter
	byTicket map[int64]*waiter
	byHint   map[uint64]*waiter
	byKey    map[driver.Key]int // how many wait
}

func (ws *waiters) init() {
	ws.byOwner, ws.byTicket, ws.byKey = make(map[string]*waiter), make(map[int64]*waiter), make(map[driver.Key]int)
	ws.byHint = make(map[uint64]*waiter)
}

func (ws *waiters) find(owner string) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byOwner[owner]
}

func (ws *waiters) ticket(n int64) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byTicket[n]
}

func (ws *waiters) hint(h uint64) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byHint[h]
}

// hintOf stands for a ticket in messages that are no grant: see the function hint of the tables, which has it in hexadecimal.
func hintOf(ticket int64) uint64 {
	var digits [20]byte
	sum := sha256.Sum256(strconv.AppendInt(digits[:0], ticket, 10))
	return binary.BigEndian.Uint64(sum[:])
}

// want reports whether anybody of this process waits for a key.
func (ws *waiters) want(k driver.Key) bool {
	if ws.count.Load() == 0 {
		return false
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byKey[k] > 0
}

// all returns all waiters.
func (ws *waiters) all() []*waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	list := make([]*waiter, 0, len(ws.byOwner))
	for _, w := range ws.byOwner {
		list = append(list, w)
	}
	return list
}

// add returns the waiter of an owner, a new one if there is none.
func (ws *waiters) add(owner string, k driver.Key) (w *waiter, added bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w = ws.byOwner[owner]
	if added = w == nil; added {
		w = &waiter{key: k, ticket: rand.Int64(), wake: make(chan struct{}, 1)}
		ws.byOwner[owner], ws.byTicket[w.ticket], ws.byHint[hintOf(w.ticket)] = w, w, w
		ws.byKey[k]++
		ws.count.Add(1)
	}
	return w, added
}

// forget drops the waiter of an owner, if there is one.
func (ws *waiters) forget(owner string) {
	if ws.count.Load() == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.byOwner[owner]
	if w == nil {
		return
	}
	ws.count.Add(-1)
	delete(ws.byOwner, owner)
	delete(ws.byTicket, w.ticket)
	delete(ws.byHint, hintOf(w.ticket))
	if ws.byKey[w.key]--; ws.byKey[w.key] == 0 {
		delete(ws.byKey, w.key)
	}
}
