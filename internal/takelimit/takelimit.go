// Package takelimit limits the takes that are in flight to one server, so that renewals do not wait for them: keeping
// leases matters more than granting new ones. The limit adapts like the window of a network sender: it grows while
// renewals are answered in time and callers wait, and falls to a minimum as soon as a renewal is late. Takes above the
// limit are admitted in order, or refused.
//
// Renewals have a limit, too, which is fixed. Those above it wait: see [Limiter.Renew].
package takelimit

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

// Servers has a Limiter for each server, as far as the engine tells servers apart. A server that is frozen answers
// neither renewals nor takes; that must not slow down takes on the other servers.
type Servers struct {
	route     func(driver.Key) uint32 // nil if there is one limiter for all servers
	single    Limiter
	perServer *[maxServers]Limiter
	process   process
}

// maxServers is the number of limiters. Servers beyond that share them.
const maxServers = 64

// process is what all limiters of a client have in common.
type process struct {
	origin    time.Time
	lateUntil atomic.Int64 // the process is late with its renewals until then, for all servers
}

func (p *process) now() time.Duration { return time.Since(p.origin) }

// Init makes the limiters. route returns a number for the server of a key; nil means that there is one server.
func (s *Servers) Init(route func(driver.Key) uint32) {
	s.process.origin = time.Now()
	s.single.process = &s.process
	if route == nil {
		return
	}
	s.route, s.perServer = route, new([maxServers]Limiter)
	for i := range s.perServer {
		s.perServer[i].process = &s.process
	}
}

// For returns the limiter for the server of a key.
func (s *Servers) For(k driver.Key) *Limiter {
	if s.route == nil {
		return &s.single
	}
	return &s.perServer[s.route(k)%maxServers]
}

// lateAfter returns when a renewal counts as late, given the limit of its request: long before its lease is in danger.
func lateAfter(limit time.Duration) time.Duration { return limit / 8 }

// NoteDelay notes by how much this process was late to send a renewal, given the limit of the request. If that is too
// much, the process counts as late for a time, for all servers.
func (s *Servers) NoteDelay(delay, limit time.Duration) {
	d := lateAfter(limit)
	if delay <= d {
		return
	}
	until := int64(s.process.now() + d)
	for {
		before := s.process.lateUntil.Load()
		if until <= before || s.process.lateUntil.CompareAndSwap(before, until) {
			return
		}
	}
}

// Limiter limits the takes and the renewals to one server. It is safe for concurrent use. Times are on the clock of
// the process.
type Limiter struct {
	process *process

	mu              sync.Mutex
	maxInFlight     int       // 0: initialTakes
	inFlight        int       // takes that were admitted
	waiters         list.List // of chan struct{}: takes that are not admitted yet
	pendingRenewals agenda.Agenda[*Renewals]
	lateUntil       time.Duration // renewals count as late until then
	sentRenewals    int           // renewals that are in flight
	unsentRenewals  list.List     // of *Renewals: batches that wait until they may be sent
}

const (
	// initialTakes is the limit before anything is known of the engine.
	initialTakes = 128
	// minTakes is the limit while renewals are late. It is not zero: those takes may be for another server.
	minTakes = 8
)

// errRefused says why a take was not sent.
var errRefused = driver.NoEffect(errors.New("not sent within its time: " +
	"this process asks for more locks than the engine can grant, and renewals of its leases go first"))

// checkLateLocked reports whether renewals are late, and lowers maxInFlight then. It does not read the clock while
// none can be, as each take calls it twice.
func (l *Limiter) checkLateLocked() bool {
	if l.maxInFlight == 0 {
		l.maxInFlight = initialTakes
	}
	next, any := l.pendingRenewals.Next()
	lateUntil := max(l.lateUntil, time.Duration(l.process.lateUntil.Load()))
	if !any && lateUntil == 0 {
		return false
	}
	if now := l.process.now(); now >= lateUntil && !(any && next < now) {
		return false
	}
	l.maxInFlight = minTakes
	return true
}

// Admit waits until a take may be sent that may last for d: for at most half of d, and until ctx or lifetime, that of
// the client, ends. It returns the rest of d. The caller of an admitted take must call Done.
func (l *Limiter) Admit(ctx, lifetime context.Context, d time.Duration) (time.Duration, error) {
	waiter := l.admitOrQueue()
	if waiter == nil {
		return d, nil
	}
	began := l.process.now()
	if err := l.wait(ctx, lifetime, waiter, d/2); err != nil {
		return 0, err
	}
	if waited := l.process.now() - began; waited > d/100 { // else requests with the usual limit share a timer
		d -= waited
	}
	return d, nil
}

// wait waits until a take that was queued is admitted.
func (l *Limiter) wait(ctx, lifetime context.Context, waiter *list.Element, maxWait time.Duration) error {
	admitted := waiter.Value.(chan struct{})
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	err := errRefused
	select {
	case <-admitted:
		return nil
	case <-ctx.Done():
		err = driver.NoEffect(context.Cause(ctx))
	case <-lifetime.Done():
		err = driver.NoEffect(context.Cause(lifetime))
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(admitted) > 0 {
		return nil // it was admitted at the same moment
	}
	l.waiters.Remove(waiter)
	return err
}

// admitOrQueue admits a take and returns nil, or queues it and returns its element of waiters.
func (l *Limiter) admitOrQueue() *list.Element {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checkLateLocked()
	if l.inFlight < l.maxInFlight && l.waiters.Len() == 0 {
		l.inFlight++
		return nil
	}
	return l.waiters.PushBack(make(chan struct{}, 1))
}

// Done ends a take that was admitted. If the engine has answered it in time, maxInFlight grows by one.
func (l *Limiter) Done(answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	if late := l.checkLateLocked(); answered && !late && l.waiters.Len() > 0 {
		l.maxInFlight++
	}
	for l.inFlight < l.maxInFlight && l.waiters.Len() > 0 {
		l.inFlight++
		l.waiters.Remove(l.waiters.Front()).(chan struct{}) <- struct{}{}
	}
}
