package etcd

import (
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// keepAliveWhileWaiting keeps a session alive until the caller calls leave, since a waiting call sends nothing else.
// One goroutine serves all waiters of a session.
func (ss *sessions) keepAliveWhileWaiting(s *session) (leave func()) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.waiters++; s.waiters == 1 && !ss.closed {
		stop := make(chan struct{})
		s.keepaliveStop = stop
		ss.engine.background.Go(func() { ss.runKeepalive(s, stop) })
	}
	return func() {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		if s.waiters--; s.waiters == 0 && s.keepaliveStop != nil {
			close(s.keepaliveStop)
			s.keepaliveStop = nil
		}
	}
}

// keepaliveRetryPause is the pause after a keepalive that failed.
const keepaliveRetryPause = time.Second

// runKeepalive keeps a session alive until stop is closed, the session ends, or the engine is closed.
func (ss *sessions) runKeepalive(s *session, stop chan struct{}) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		ss.mu.Lock()
		next := s.remainingLocked(driver.Now()) - s.lastsFor/2
		ss.mu.Unlock()
		pause.Reset(max(next, 0))
		select {
		case <-pause.C:
		case <-stop:
			return
		case <-s.gone:
			return
		case <-ss.engine.ctx.Done():
			return
		}
		if next > 0 {
			continue // another call may have renewed it meanwhile
		}
		ss.mu.Lock()
		req := ss.renewLocked(s)
		ss.mu.Unlock()
		<-req.done
		if req.err == nil {
			continue
		}
		pause.Reset(keepaliveRetryPause)
		select {
		case <-pause.C:
		case <-stop:
			return
		case <-ss.engine.ctx.Done():
			return
		}
	}
}
