package etcd

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// sessions holds the sessions of an engine, one for each length.
type sessions struct {
	engine *Engine

	mu        sync.Mutex
	bySeconds map[int64]*session
	creating  map[int64]*sharedRequest // requests that create sessions
	closed    bool
}

func (ss *sessions) init(e *Engine) {
	ss.engine, ss.bySeconds, ss.creating = e, make(map[int64]*session), make(map[int64]*sharedRequest)
}

// close makes all later requests fail.
func (ss *sessions) close() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.closed = true
}

// maxKeepaliveTries is how many requests in a row one caller waits for: the first may find the session gone, and then a
// new session may be needed that lasts long enough.
const maxKeepaliveTries = 4

// get returns a session of some length that lasts for most of that from the returned instant on. It keeps a session
// alive or creates one first if necessary. All callers that need the same request at the same time share it. Errors say
// that nothing was done.
func (ss *sessions) get(ctx context.Context, seconds int64) (*session, driver.Instant, error) {
	return ss.getLasting(ctx, nil, seconds)
}

// refresh is get for entries that name a session already, which may be retired. It returns another session if that one
// has ended.
func (ss *sessions) refresh(ctx context.Context, on *session) (*session, error) {
	s, _, err := ss.getLasting(ctx, on, on.seconds)
	return s, err
}

func (ss *sessions) getLasting(ctx context.Context, on *session, seconds int64) (*session, driver.Instant, error) {
	err := errLate
	var after driver.Instant // set by the first try: a request answered after it will do, even if it was slow
	for range maxKeepaliveTries {
		now := driver.Now()
		s, req := ss.findOrStart(on, seconds, now, after)
		if req == nil {
			return s, now, nil
		}
		if after.IsZero() {
			after = now
		}
		select {
		case <-req.done:
		case <-ctx.Done():
			return nil, now, notSent(ctx)
		}
		if err = req.err; err != nil && !errors.Is(err, errOldLeader) {
			return nil, now, err
		}
	}
	if err == nil {
		err = errLate
	}
	return nil, driver.Instant{}, err
}

// findOrStart returns a session that lasts, or a request to wait for.
func (ss *sessions) findOrStart(on *session, seconds int64, now, after driver.Instant) (*session, *sharedRequest) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := on
	if s == nil || s.isGone() {
		if s = ss.bySeconds[seconds]; s != nil && s.isWorn(now) {
			ss.retireLocked(s)
			s = nil
		}
	}
	switch {
	case s == nil:
		return nil, ss.createLocked(seconds)
	case s.remainingLocked(now) >= s.lastsFor*3/4,
		!after.IsZero() && s.seenAt.Since(after) >= 0 && s.remainingLocked(now) > 0:
		return s, nil
	}
	return nil, ss.renewLocked(s)
}

// retireLocked makes sure that no new entry names the session. mu is held.
func (ss *sessions) retireLocked(s *session) {
	s.retired.Store(true)
	delete(ss.bySeconds, s.seconds)
}

// noteGone notes that sessions are gone, since a request found that the base was revoked.
func (ss *sessions) noteGone(some ...*session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, s := range some {
		if s != nil {
			ss.removeLocked(s)
		}
	}
}

// verify finds out which sessions have ended, after a request was refused for that reason.
func (ss *sessions) verify(ctx context.Context, some ...*session) error {
	for _, s := range some {
		if s == nil || s.isGone() {
			continue
		}
		ss.mu.Lock()
		req := ss.renewLocked(s)
		ss.mu.Unlock()
		select {
		case <-req.done:
		case <-ctx.Done():
			return notSent(ctx)
		}
		if req.err != nil {
			return req.err
		}
	}
	return nil
}

// remainingLocked returns how long the session certainly lasts. sessions.mu is held.
func (s *session) remainingLocked(now driver.Instant) time.Duration {
	return s.lastsFor - now.Since(s.seenAt)
}

// safeFor returns how long others certainly leave an entry alone that names the session: they give it its grace from a
// moment at which the session existed.
func (ss *sessions) safeFor(s *session, grace time.Duration, now driver.Instant) time.Duration {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return min(lessDrift(grace)-now.Since(s.seenAt), s.baseLeft(now))
}

// createLocked starts to create a session. mu is held.
func (ss *sessions) createLocked(seconds int64) *sharedRequest {
	if req := ss.creating[seconds]; req != nil {
		return req
	}
	req := &sharedRequest{done: make(chan struct{})}
	ss.creating[seconds] = req
	ss.runLocked(req, func() {
		s, err := ss.engine.createSession(ss.engine.ctx, seconds)
		ss.mu.Lock()
		defer ss.mu.Unlock()
		delete(ss.creating, seconds)
		if req.err = err; err == nil {
			ss.bySeconds[seconds] = s
		}
	})
	return req
}

// renewLocked starts to keep a session alive. mu is held.
func (ss *sessions) renewLocked(s *session) *sharedRequest {
	if s.keepalive != nil {
		return s.keepalive
	}
	req := &sharedRequest{done: make(chan struct{})}
	s.keepalive = req
	ss.runLocked(req, func() {
		from, lasts, err := ss.engine.keepAlive(ss.engine.ctx, s)
		ss.mu.Lock()
		defer ss.mu.Unlock()
		s.keepalive = nil
		switch {
		case errors.Is(err, errSession):
			ss.removeLocked(s) // its callers get a new one
		case err != nil:
			req.err = err
		case from.Since(s.seenAt) > 0:
			s.seenAt, s.lastsFor = from, lasts
		}
	})
	return req
}

// removeLocked forgets a session that has ended. mu is held.
func (ss *sessions) removeLocked(s *session) {
	if ss.bySeconds[s.seconds] == s {
		delete(ss.bySeconds, s.seconds)
	}
	if !s.isGone() {
		close(s.gone)
	}
}

// retire retires sessions by their bases. They end when their entries have left: renewals move holders, a few at a
// time, and waiters move with their next poll. A request that arrives late, of which nobody knows any more, puts an
// entry on such a session, and the entry ends with it. The sessions are not revoked, since a lock may be about to be
// granted on one that was in use a moment ago.
func (ss *sessions) retire(some []clientv3.LeaseID) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, s := range ss.bySeconds {
		if slices.Contains(some, s.base) {
			ss.retireLocked(s)
		}
	}
}

// runLocked runs a request in the background. mu is held.
func (ss *sessions) runLocked(req *sharedRequest, do func()) {
	if ss.closed {
		req.err = errClosed
		close(req.done)
		return
	}
	ss.engine.background.Go(func() {
		defer close(req.done)
		do()
	})
}
