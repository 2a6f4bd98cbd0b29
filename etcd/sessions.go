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

// sessions are those that an engine has, one for each class.
type sessions struct {
	engine *Engine

	mu     sync.Mutex
	all    map[int64]*session
	starts map[int64]*flight // of those that there are not yet
	closed bool
}

func (b *sessions) init(e *Engine) {
	b.engine, b.all, b.starts = e, make(map[int64]*session), make(map[int64]*flight)
}

// close lets nothing begin any more.
func (b *sessions) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// flights is how often a session is renewed in a row for one who needs it: the first may find it gone, and another may be needed that lasts.
const flights = 4

// get returns a session of a class that lasts for most of its time from the instant that it returns, too. If need be, it is kept alive or
// made first. All who need that at the same time share the request. Errors say that nothing was done.
func (b *sessions) get(ctx context.Context, seconds int64) (*session, driver.Instant, error) {
	return b.lasting(ctx, nil, seconds)
}

// keep is get for those who are on a session already, which nobody else may come to any more. It returns another one if that has ended.
func (b *sessions) keep(ctx context.Context, on *session) (*session, error) {
	s, _, err := b.lasting(ctx, on, on.seconds)
	return s, err
}

func (b *sessions) lasting(ctx context.Context, on *session, seconds int64) (*session, driver.Instant, error) {
	err := errLate
	var after driver.Instant // a request that was slow is not repeated for that
	for range flights {
		now := driver.Now()
		s, f := b.find(on, seconds, now, after)
		if f == nil {
			return s, now, nil
		}
		if after.IsZero() {
			after = now
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, now, unsent(ctx)
		}
		if err = f.err; err != nil && !errors.Is(err, errTerm) {
			return nil, now, err
		}
	}
	if err == nil {
		err = errLate
	}
	return nil, driver.Instant{}, err
}

// find returns a session that lasts, or a request to wait for.
func (b *sessions) find(on *session, seconds int64, now, after driver.Instant) (*session, *flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := on
	if s == nil || s.isGone() {
		if s = b.all[seconds]; s != nil && s.worn(now) {
			b.leave(s)
			s = nil
		}
	}
	switch {
	case s == nil:
		return nil, b.start(seconds)
	case s.left(now) >= s.lasts*3/4, !after.IsZero() && s.alive.Since(after) >= 0 && s.left(now) > 0:
		return s, nil
	}
	return nil, b.renew(s)
}

// leave lets nobody else come to a session. mu is held.
func (b *sessions) leave(s *session) {
	s.retired.Store(true)
	delete(b.all, s.seconds)
}

// lost says that a base is gone, as a request has found out: somebody has revoked it.
func (b *sessions) lost(some ...*session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range some {
		if s != nil {
			b.bury(s)
		}
	}
}

// check finds out which sessions are gone: something has been refused for that.
func (b *sessions) check(ctx context.Context, some ...*session) error {
	for _, s := range some {
		if s == nil || s.isGone() {
			continue
		}
		b.mu.Lock()
		f := b.renew(s)
		b.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return unsent(ctx)
		}
		if f.err != nil {
			return f.err
		}
	}
	return nil
}

// left returns how long the session surely lasts. sessions.mu is held.
func (s *session) left(now driver.Instant) time.Duration { return s.lasts - now.Since(s.alive) }

// safe returns for how long a place that names a session is surely left alone by all others: as of the moment when the session was there they give it
// its grace.
func (b *sessions) safe(s *session, grace time.Duration, now driver.Instant) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(slow(grace)-now.Since(s.alive), s.baseLeft(now))
}

// start makes a session. mu is held.
func (b *sessions) start(seconds int64) *flight {
	if f := b.starts[seconds]; f != nil {
		return f
	}
	f := &flight{done: make(chan struct{})}
	b.starts[seconds] = f
	b.launch(f, func() {
		s, err := b.engine.grant(b.engine.life, seconds)
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.starts, seconds)
		if f.err = err; err == nil {
			b.all[seconds] = s
		}
	})
	return f
}

// renew keeps a session alive. mu is held.
func (b *sessions) renew(s *session) *flight {
	if s.flight != nil {
		return s.flight
	}
	f := &flight{done: make(chan struct{})}
	s.flight = f
	b.launch(f, func() {
		from, lasts, err := b.engine.keepAlive(b.engine.life, s)
		b.mu.Lock()
		defer b.mu.Unlock()
		s.flight = nil
		switch {
		case errors.Is(err, errSession):
			b.bury(s) // and whoever asked gets a new one
		case err != nil:
			f.err = err
		case from.Since(s.alive) > 0:
			s.alive, s.lasts = from, lasts
		}
	})
	return f
}

// bury forgets a session that is gone. mu is held.
func (b *sessions) bury(s *session) {
	if b.all[s.seconds] == s {
		delete(b.all, s.seconds)
	}
	if !s.isGone() {
		close(s.gone)
	}
}

// retire lets nobody else come to some sessions, by their bases, so that they end when those have left who are there: renewals move holders to another one, a few at a
// time, and waiters move when they next look for themselves. What arrives on one of them late, and nobody knows of, ends with it. They are not revoked,
// as somebody may be about to be granted a lock on one that was in use a moment ago.
func (b *sessions) retire(some []clientv3.LeaseID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.all {
		if slices.Contains(some, s.base) {
			b.leave(s)
		}
	}
}

// launch runs a request in the background. mu is held.
func (b *sessions) launch(f *flight, do func()) {
	if b.closed {
		f.err = errClosed
		close(f.done)
		return
	}
	b.engine.background.Go(func() {
		defer close(f.done)
		do()
	})
}
