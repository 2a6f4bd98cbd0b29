package redis

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/subscriptions"
)

// waiter is an owner of this process that has joined a queue, or is about to.
type waiter struct {
	key driver.Key
	// ticket stands for the owner in messages, which others may be able to read. Its number grows, so that scripts know
	// which of two requests is later. The rest is secret, so that nobody who may publish can make up a grant.
	ticket string
	wake   chan struct{}

	subscriber subscriptions.Subscriber

	mu       sync.Mutex
	notifyBy string // how it is notified: P, S, or - if it must poll
	// sentBefore is a moment before the latest answered request was sent, or before the first one if none was answered.
	sentBefore        driver.Instant
	updatedAt         driver.Instant // when refusal was last updated; endsIn counts from here
	refusal           refusal        // the latest answer; its serverMillis is 0 if there is none
	hasPolled         bool           // it has asked again since it joined
	foreignPolls      int            // polls in a row that found another kind of holder
	granted           *messageGrant
	pollPutOff        bool // do not poll when woken: there is nothing new yet
	messagesMayBeLost bool // since the latest answer
}

// messageGrant is a grant by another holder's release, received as a message. With WithReplicas it is not enough, as
// nobody has counted yet how many replicas confirm it. The waiter then polls, and that request waits for them.
type messageGrant struct {
	grant          driver.Grant
	wantedByOthers bool // others wait behind it
}

// Waiters poll even if they are notified, in case a message was lost or somebody has died.
const (
	// maxPollInterval is the longest time between two polls.
	maxPollInterval = 10 * time.Second
	// minPollInterval is the shortest time between two polls of a waiter that is not the head of the queue.
	minPollInterval = time.Second
	// pollInitial and pollMax are the first and the longest pause between polls of a head without notifications.
	pollInitial, pollMax = 20 * time.Millisecond, 250 * time.Millisecond
	// pollMaxForeign replaces pollMax behind another kind of client: its waiters seldom pause for longer than this.
	pollMaxForeign = 80 * time.Millisecond
)

func newWaiter() *waiter {
	w := &waiter{wake: make(chan struct{}, 1)}
	w.subscriber.Wake, w.subscriber.MessagesLost = w.wakeUp, w.noteMessagesLost
	return w
}

func (w *waiter) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default: // it is about to poll anyway
	}
}

// setNotifyBy sets how the waiter is notified of a grant.
func (w *waiter) setNotifyBy(method string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notifyBy = method
}

// notifyMethod returns how the waiter is notified of a grant.
func (w *waiter) notifyMethod() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.notifyBy
}

// noteRequest notes that a request is about to be sent. From then on there may be a grant; it may also be that of an
// earlier, unanswered request.
func (w *waiter) noteRequest(sent driver.Instant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sentBefore.IsZero() {
		w.sentBefore = sent
	}
}

// noteRefused notes the refusal of a request that was sent at a moment.
func (w *waiter) noteRefused(sent driver.Instant, refused refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hasPolled = w.hasPolled || w.refusal.serverMillis != 0
	w.sentBefore, w.updatedAt, w.refusal, w.pollPutOff, w.messagesMayBeLost = sent, driver.Now(), refused, false, false
	if refused.foreign {
		w.foreignPolls++
	} else {
		w.foreignPolls = 0
	}
}

// isRefusedAsClosed reports whether the latest answer was a refusal only because grants are closed.
func (w *waiter) isRefusedAsClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refusal.closed
}

// hasBeenRefused reports whether the server has told the waiter to wait.
func (w *waiter) hasBeenRefused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refusal.serverMillis != 0
}

// notePollIn notes that the waiter shall poll in d, as nothing may notify it by then; a negative d is as late as it may
// be. It is told so as the head of the queue, when the lease before it ends then; or as the second, if the head polls
// and counts as gone then. Both poll like a head.
func (w *waiter) notePollIn(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusal.endsIn, w.refusal.position, w.refusal.foreign = d, 0, false
	w.updatedAt, w.pollPutOff = driver.Now(), true
	w.wakeUp()
}

// noteGranted notes the first grant that a message brings. at is the time of the grant on the server's clock, in
// milliseconds.
func (w *waiter) noteGranted(received messageGrant, at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wakeUp()
	received.grant.Start = w.sentBefore
	if w.refusal.serverMillis != 0 {
		// Since the latest answer, as much time has passed here as on the server, except for clock drift.
		passed := time.Duration(at-w.refusal.serverMillis) * time.Millisecond
		surely := passed - clockDrift(passed)
		if w.messagesMayBeLost || passed < 0 || surely > driver.Now().Since(w.sentBefore) {
			// The message is older than the latest refusal, or the server's clock differs or was set. Poll again.
			w.pollPutOff = false
			return
		}
		received.grant.Start = w.sentBefore.Add(max(surely, 0))
	}
	if w.granted == nil { // anybody who has seen the first message could forge another
		w.granted = &received
	}
}

// clockDrift returns by how much the clocks of this process and of the server may differ after some time in which both
// were not set: as much as the drift of a lease, see the glossary.
func clockDrift(passed time.Duration) time.Duration { return passed/100 + 2*time.Millisecond }

// noteMessagesLost notes that messages may have been lost, and makes the waiter poll at once. Before that poll is
// answered, a message may come from another server with another clock.
func (w *waiter) noteMessagesLost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messagesMayBeLost, w.pollPutOff = true, false
	w.wakeUp()
}

// receivedGrant returns the grant that a message brought, or nil.
func (w *waiter) receivedGrant() *messageGrant {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.granted
}

// clearPutOff reports whether the waiter was woken only to poll at another time.
func (w *waiter) clearPutOff() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	hint := w.pollPutOff
	w.pollPutOff = false
	return hint
}

// pollPause returns for how long to wait for a message before the next poll.
func (w *waiter) pollPause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	position := max(w.refusal.position, 0)
	d := maxPollInterval
	if w.refusal.endsIn >= 0 {
		d = w.refusal.endsIn + time.Millisecond
	}
	switch {
	case w.notifyBy == "-":
		d = min(d+jitter(5*time.Millisecond), pollInitial*time.Duration(min(position+1, 12)), pollMax)
		d += jitter(d)
	case position > 0:
		d = max(d+min(time.Duration(position)*20*time.Millisecond, time.Second), minPollInterval)
		d += jitter(d / 8)
		if !w.hasPolled { // hand_over.lua relies on it
			d = min(d, firstLease-firstLease/10-jitter(firstLease/4))
		}
	case w.refusal.foreign:
		d = min(d, pollInitial<<min(w.foreignPolls, 10)/2, pollMaxForeign)
		d += jitter(d / 2)
	default:
		d += jitter(5 * time.Millisecond)
	}
	return max(min(d, maxPollInterval)-driver.Now().Since(w.updatedAt), time.Millisecond)
}

// jitter returns a random time of at most d, so that waiters do not poll at the same moment.
func jitter(d time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(d) + 1)) }
