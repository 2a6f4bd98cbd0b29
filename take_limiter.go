package leasehold

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/agenda"
)

// takeLimiter limits the takes that are in flight to one server, so that renewals do not wait for them: keeping leases
// matters more than granting new ones. The limit adapts like the window of a network sender: it grows while renewals
// are answered in time and callers wait, and falls to a minimum as soon as a renewal is late. Takes above the limit are
// admitted in order, or refused.
type takeLimiter struct {
	mu               sync.Mutex
	limit            int       // maximum of inFlight; 0: initialTakes
	inFlight         int       // takes that were admitted
	waiters          list.List // of chan struct{}: takes that are not admitted yet
	pendingRenewals  agenda.Agenda[*renewalBatch]
	lateUntil        time.Duration // renewals count as late until then, on the renewer's clock
	processLateUntil *atomic.Int64 // the same for all limiters of the client
}

const (
	// initialTakes is the limit before anything is known of the engine.
	initialTakes = 128
	// minTakes is the limit while renewals are late. It is not zero: those takes may be for another server.
	minTakes = 8
)

// errTakeRefused says why a take was not sent.
var errTakeRefused = driver.NoEffect(errors.New("held back for too long: " +
	"this process asks for more than the engine can do, and the renewals of its leases go first"))

// renewalBatch is a batch of renewals that is in flight.
type renewalBatch struct {
	entry   agenda.Entry[*renewalBatch]
	limiter *takeLimiter
}

// expectRenewals notes that a batch of renewals was sent, which is late from the time late on.
func (t *takeLimiter) expectRenewals(late time.Duration) *renewalBatch {
	r := &renewalBatch{limiter: t}
	r.entry.Value = r
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pendingRenewals.Set(&r.entry, late)
	return r
}

// finish notes that the batch was answered, or is no longer waited for.
func (r *renewalBatch) finish() {
	r.limiter.mu.Lock()
	defer r.limiter.mu.Unlock()
	r.limiter.pendingRenewals.Remove(&r.entry)
}

// noteLate notes that renewals are late, and counts them as late until the time until.
func (t *takeLimiter) noteLate(until time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lateUntil = max(t.lateUntil, until)
}

// checkLateLocked reports whether renewals are late at the time now, and lowers the limit if they are.
func (t *takeLimiter) checkLateLocked(now time.Duration) bool {
	if t.limit == 0 {
		t.limit = initialTakes
	}
	next, any := t.pendingRenewals.Next()
	if late := now < max(t.lateUntil, time.Duration(t.processLateUntil.Load())) || any && next < now; !late {
		return false
	}
	t.limit = minTakes
	return true
}

// admit waits until a take may be sent, for at most maxWait, and until the client is closed. The caller of an admitted
// take must call done.
func (t *takeLimiter) admit(ctx context.Context, closed <-chan struct{}, now, maxWait time.Duration) error {
	waiter := t.admitOrQueue(now)
	if waiter == nil {
		return nil
	}
	admitted := waiter.Value.(chan struct{})
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	err := errTakeRefused
	select {
	case <-admitted:
		return nil
	case <-ctx.Done():
		err = driver.NoEffect(context.Cause(ctx))
	case <-closed:
		err = driver.NoEffect(ErrClosed)
	case <-timer.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(admitted) > 0 {
		return nil // it was admitted at the same moment
	}
	t.waiters.Remove(waiter)
	return err
}

// admitOrQueue admits a take and returns nil, or queues it and returns its element of waiters.
func (t *takeLimiter) admitOrQueue(now time.Duration) *list.Element {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checkLateLocked(now)
	if t.inFlight < t.limit && t.waiters.Len() == 0 {
		t.inFlight++
		return nil
	}
	return t.waiters.PushBack(make(chan struct{}, 1))
}

// admitTake waits until a take may be sent, for at most half of its limit. It returns the rest of the limit.
func (c *Client) admitTake(ctx context.Context, t *takeLimiter, limit time.Duration) (time.Duration, error) {
	start := c.renewer.now()
	if err := t.admit(ctx, c.lifetime.Done(), start, limit/2); err != nil {
		return 0, err
	}
	if waited := c.renewer.now() - start; waited > limit/100 { // else requests with the usual limit share a timer
		limit -= waited
	}
	return limit, nil
}

// done ends a take that was admitted. If the engine has answered it in time, the limit grows by one.
func (t *takeLimiter) done(now time.Duration, answered bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight--
	if late := t.checkLateLocked(now); answered && !late && t.waiters.Len() > 0 {
		t.limit++
	}
	for t.inFlight < t.limit && t.waiters.Len() > 0 {
		t.inFlight++
		t.waiters.Remove(t.waiters.Front()).(chan struct{}) <- struct{}{}
	}
}
