package redis

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
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
	answers  int    // how many of its requests were refused; with the second, it has polled since it joined
	// sentBefore is a moment before the latest answered request was sent, or before the first one if none was answered.
	sentBefore   driver.Instant
	serverMillis int64 // the server's clock at the latest answer
	grantsClosed bool  // that answer was a refusal only because grants are closed
	// What the latest answer, or a message since, says of the next poll.
	pollHint
	hintedAt       driver.Instant // when it was updated, and endsIn counts from; zero: poll at once
	rescheduled    bool           // what has woken the waiter only says when to poll
	foreignPolls   int            // polls in a row that found another kind of holder
	granted        *messageGrant
	ticketShown    bool           // by a message of a grant that did not count, to all who listen
	inUse          bool           // the holder was asked to let go, and has answered that it uses the lock
	messagesLostAt driver.Instant // messages may have been lost then, after the latest answered request was sent
}

// messageGrant is a grant by another holder's release, received as a message. With WithReplicas it is not enough, as
// nobody has counted yet how many replicas confirm it. The waiter then polls, and that request waits for them.
type messageGrant struct {
	grant          driver.Grant
	wantedByOthers bool // others wait behind it

	// Only on a node of redlock:
	agreed bool             // it was passed with a majority of nodes, and Start is known
	next   *quorumnode.Next // who waits behind; nil if that is not known
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
//
// A poll that was left may be answered after the next one, and then the older answer replaces the newer one. That does
// no harm: sentBefore and serverMillis still belong together, so no lease counts from too late a moment. At worst the
// next poll comes late, and polls only back up messages.
func (w *waiter) noteRefused(sent driver.Instant, refused refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers++
	w.sentBefore, w.serverMillis, w.grantsClosed = sent, refused.serverMillis, refused.closed
	w.pollHint, w.hintedAt, w.rescheduled = refused.pollHint, driver.Now(), false
	if sent.Since(w.messagesLostAt) > 0 {
		w.messagesLostAt = driver.Instant{}
	}
	if w.foreignPolls++; !refused.foreign {
		w.foreignPolls = 0
	}
}

// isRefusedAsClosed reports whether the latest answer was a refusal only because grants are closed.
func (w *waiter) isRefusedAsClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.grantsClosed
}

// hasBeenRefused reports whether the server has told the waiter to wait.
func (w *waiter) hasBeenRefused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answers > 0
}

// notePollIn notes that the waiter must poll in d, because nothing may notify it before then; if d is negative, as late
// as it may. Sent to the head of the queue: d is when the current lease ends. Sent to the second: d is when a polling
// head counts as gone. Both poll like a head.
func (w *waiter) notePollIn(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pollHint, w.hintedAt, w.rescheduled = pollHint{endsIn: d}, driver.Now(), true
	w.wakeUp()
}

// noteGranted notes the first grant that a message brings. at is the time of the grant on the server's clock, in
// milliseconds. Its lease counts from age before.
func (w *waiter) noteGranted(received messageGrant, at int64, age time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ticketShown && received.grant.Owner != "" {
		return // whoever has seen the ticket could make up the owner
	}
	w.rescheduled = false // if the grant does not count, or not yet, the waiter polls
	w.wakeUp()
	received.agreed = received.grant.Owner != ""
	received.grant.Start = w.sentBefore.Add(-age)
	if w.answers > 0 {
		// Since the latest answer, as much time has passed here as on the server, except for clock drift.
		passed := time.Duration(at-w.serverMillis) * time.Millisecond
		surely := passed - driver.Drift(passed)
		if !w.messagesLostAt.IsZero() || passed < 0 || surely > driver.Now().Since(w.sentBefore) {
			// The message is older than the latest refusal, or the server's clock differs or was set. Poll again; but
			// only the message says as which owner the waiter was passed the name.
			if !received.agreed {
				w.ticketShown = true
				return
			}
			received.agreed = false
		}
		received.grant.Start = w.sentBefore.Add(max(surely, 0) - age)
	}
	if w.granted == nil { // anybody who has seen the first message could forge another
		w.granted = &received
	}
}

// noteInUse notes that the holder was asked to let go, and uses the lock.
func (w *waiter) noteInUse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inUse = true
	w.wakeUp()
}

func (w *waiter) isInUse() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inUse && w.granted == nil
}

// noteMessagesLost notes that messages may have been lost, and makes the waiter poll at once. Until a request that is
// sent after this has been answered, messages may come from another server with another clock.
func (w *waiter) noteMessagesLost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messagesLostAt, w.rescheduled = driver.Now(), false
	w.wakeUp()
}

// whyWoken returns the grant that a message brought, or nil; and whether the waiter was woken only to poll at another
// time, which it reports once.
func (w *waiter) whyWoken() (granted *messageGrant, rescheduled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.granted != nil {
		copied := *w.granted // takeLeft changes it
		granted = &copied
	}
	rescheduled, w.rescheduled = w.rescheduled, false
	return granted, rescheduled
}

// pollPause returns for how long to wait for a message before the next poll.
func (w *waiter) pollPause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	position, d := max(w.position, 0), maxPollInterval
	if w.endsIn >= 0 {
		d = w.endsIn + time.Millisecond
	}
	switch {
	case w.notifyBy == "-":
		d = min(d+jitter(5*time.Millisecond), pollInitial*time.Duration(min(position+1, 12)), pollMax)
		d += jitter(d)
	case position > 0:
		d = max(d+min(time.Duration(position)*20*time.Millisecond, time.Second), minPollInterval)
		d += jitter(d / 8)
		if w.answers < 2 { // release_to_head.lua relies on it
			d = min(d, firstLease-firstLease/10-jitter(firstLease/4))
		}
	case w.foreign:
		d = min(d, pollInitial<<min(w.foreignPolls, 10)/2, pollMaxForeign)
		d += jitter(d / 2)
	default:
		d += jitter(5 * time.Millisecond)
	}
	return max(min(d, maxPollInterval)-driver.Now().Since(w.hintedAt), time.Millisecond)
}

// jitter returns a random time of at most d, so that waiters do not poll at the same moment.
func jitter(d time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(d) + 1)) }
