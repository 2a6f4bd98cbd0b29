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

// Notifications wake waiters. They also poll from time to time, in case a notification was lost or the holder has died.
const (
	// maxPollPause is the longest time between two polls of a waiter that gets notifications.
	maxPollPause = 10 * time.Second
	// minQueuedPause is the shortest time between two polls of such a waiter that is not the head of the queue.
	minQueuedPause = time.Second
	// firstQueuedPause is the longest time until the first poll of such a waiter. Until then a release does not tell it
	// that it has become the head: the SQL function release_to_head has the same two seconds.
	firstQueuedPause = 2 * time.Second
	// The poll interval of a waiter that gets no notifications, at first and at most.
	pollingInitial, pollingMax = 20 * time.Millisecond, 500 * time.Millisecond
	// guardPollInitial is the first poll interval of the head of the queue after the lease in its way has ended, while
	// a transaction still keeps the row of that lease. Nothing notifies of the end of the transaction.
	guardPollInitial = 10 * time.Millisecond
)

// waiter is an owner of this process that has joined a queue, or is about to.
type waiter struct {
	key driver.Key
	// ticket identifies the owner in the notification of a grant. Nobody else may be able to guess it, or to learn it
	// before the grant, because a grant could then be forged.
	ticket int64
	wake   chan struct{}

	mu sync.Mutex
	// sentBefore is a time before the latest refused request was sent, or before the first request if none was refused.
	sentBefore        driver.Instant
	answeredAt        driver.Instant // when refusal was received or updated: its durations count from then
	refusal           answer         // the latest refusal; its serverTime is zero if there is none
	isPolling         bool           // it gets no notifications
	answers           int            // number of refusals
	polls             int            // number of polls since something has changed
	granted           *messageGrant
	pollPutOff        bool // the next poll was put off: there is nothing to see yet
	messagesMayBeLost bool // notifications may have been lost since the latest answer
}

// messageGrant is a grant that was made by somebody else's release.
type messageGrant struct {
	grant      driver.Grant
	serverTime time.Time // the server's clock
	hasWaiters bool      // others wait behind
}

// wakeUp wakes the waiting call, which takes the grant or polls.
func (w *waiter) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default: // it will poll anyway
	}
}

// noteRequest notes that a request is about to be sent. From then on there may be a grant.
func (w *waiter) noteRequest(sent driver.Instant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sentBefore.IsZero() {
		w.sentBefore = sent
	}
}

// noteRefused stores the refusal of a request, and when that request was sent.
func (w *waiter) noteRefused(sent driver.Instant, refusal answer, polling bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers++
	w.polls++
	if refusal.waitersAhead != w.refusal.waitersAhead {
		w.polls = 0 // the queue moves
	}
	w.sentBefore, w.answeredAt = sent, driver.Now()
	w.refusal, w.isPolling = refusal, polling
	w.pollPutOff, w.messagesMayBeLost = false, false
}

// isRefusedAsClosed reports whether the latest answer was a refusal because nothing is granted after a crash.
func (w *waiter) isRefusedAsClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refusal.closedFor > 0
}

// hasBeenRefused reports whether the waiter was refused. It is false for nil.
func (w *waiter) hasBeenRefused() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.refusal.serverTime.IsZero()
}

// noteHead notes that the waiter is now the head of the queue, behind a lease that ends after the given time.
func (w *waiter) noteHead(ends time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answeredAt, w.polls, w.pollPutOff = driver.Now(), 0, true
	w.refusal.holderEndsIn, w.refusal.isEndKnown, w.refusal.waitersAhead = ends, true, 0
	w.wakeUp()
}

// noteGranted stores a grant that was received by notification, unless its start cannot be determined.
func (w *waiter) noteGranted(g messageGrant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wakeUp()
	w.pollPutOff = false
	g.grant.Start = w.sentBefore
	if !w.refusal.serverTime.IsZero() {
		// As much time has passed here since the latest answer as on the server, except for the drift of the clocks.
		passed := g.serverTime.Sub(w.refusal.serverTime)
		surely := passed - passed/100 - 2*time.Millisecond
		if w.messagesMayBeLost || passed < 0 || surely > driver.Now().Since(w.sentBefore) {
			return // the clock was set, or it is another server: a poll will tell
		}
		g.grant.Start = w.sentBefore.Add(max(surely, 0))
	}
	if w.granted == nil { // anybody who has seen the first message could forge another
		w.granted = &g
	}
}

// noteMessagesLost notes that notifications may have been lost, and has the waiter poll at once.
func (w *waiter) noteMessagesLost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messagesMayBeLost, w.pollPutOff = true, false
	w.wakeUp()
}

// takeGrant returns the grant, if there is one. putOff reports whether the waiter was woken only because its next poll
// was put off.
func (w *waiter) takeGrant() (g *messageGrant, putOff bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	putOff, w.pollPutOff = w.pollPutOff, false
	return w.granted, putOff
}

// pollPause is how long to wait for a notification before the next poll.
func (w *waiter) pollPause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := maxPollPause
	if w.refusal.isEndKnown {
		d = w.refusal.holderEndsIn + time.Millisecond
	}
	switch {
	case w.refusal.closedFor > 0:
		d = w.refusal.closedFor + jitter(50*time.Millisecond)
		if w.isPolling {
			d = min(d, time.Second) // to keep its place
		}
	case w.isPolling:
		turns := time.Duration(min(w.refusal.waitersAhead, 24) + 1)
		d = min(max(d, guardPollInitial), pollingInitial<<min(w.polls, 8)*turns, pollingMax)
		d += jitter(d / 4)
	case w.refusal.waitersAhead > 0:
		d = max(d+min(time.Duration(w.refusal.waitersAhead)*20*time.Millisecond, time.Second), minQueuedPause)
		d += jitter(d / 8)
		if w.answers == 1 {
			d = min(d, firstQueuedPause)
		}
	case w.refusal.isEndKnown && w.refusal.holderEndsIn <= 0:
		d = min(guardPollInitial<<min(w.polls, 8), pollingMax)
	default:
		d += jitter(5 * time.Millisecond)
	}
	return max(min(d, maxPollPause)-driver.Now().Since(w.answeredAt), time.Millisecond)
}

// jitter returns a random time up to d, so that many waiters do not poll at the same moment.
func jitter(d time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(d) + 1)) }

// waiters are the owners of this process that wait, or may wait.
type waiters struct {
	count atomic.Int32 // number of waiters

	mu       sync.Mutex
	byOwner  map[string]*waiter
	byTicket map[int64]*waiter
	byHint   map[uint64]*waiter
	byKey    map[driver.Key]int // number of waiters
}

func (ws *waiters) init() {
	ws.byOwner, ws.byTicket, ws.byKey = make(map[string]*waiter), make(map[int64]*waiter), make(map[driver.Key]int)
	ws.byHint = make(map[uint64]*waiter)
}

func (ws *waiters) findOwner(owner string) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byOwner[owner]
}

func (ws *waiters) findTicket(n int64) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byTicket[n]
}

func (ws *waiters) findHint(h uint64) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byHint[h]
}

// hintNumber identifies a waiter in notifications that are not grants. It is derived from the ticket and does not
// reveal it. The SQL function hint computes the same number, in hexadecimal.
func hintNumber(ticket int64) uint64 {
	var digits [20]byte
	sum := sha256.Sum256(strconv.AppendInt(digits[:0], ticket, 10))
	return binary.BigEndian.Uint64(sum[:])
}

// hasKey reports whether any owner of this process waits for a key.
func (ws *waiters) hasKey(k driver.Key) bool {
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

// add returns the waiter of an owner. It makes one if there is none.
func (ws *waiters) add(owner string, k driver.Key) (w *waiter, added bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w = ws.byOwner[owner]
	if added = w == nil; added {
		w = &waiter{key: k, ticket: rand.Int64(), wake: make(chan struct{}, 1)}
		ws.byOwner[owner], ws.byTicket[w.ticket], ws.byHint[hintNumber(w.ticket)] = w, w, w
		ws.byKey[k]++
		ws.count.Add(1)
	}
	return w, added
}

// remove removes the waiter of an owner, if there is one.
func (ws *waiters) remove(owner string) {
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
	delete(ws.byHint, hintNumber(w.ticket))
	if ws.byKey[w.key]--; ws.byKey[w.key] == 0 {
		delete(ws.byKey, w.key)
	}
}
