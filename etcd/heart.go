package etcd

import (
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// attend keeps a session alive until the function that it returns is called: somebody waits who sends nothing else. There is one heart for
// all who wait.
func (b *sessions) attend(s *session) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.waiters++; s.waiters == 1 && !b.closed {
		stop := make(chan struct{})
		s.beating = stop
		b.engine.background.Go(func() { b.beat(s, stop) })
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if s.waiters--; s.waiters == 0 && s.beating != nil {
			close(s.beating)
			s.beating = nil
		}
	}
}

// beatAgain is the pause after a request that failed.
const beatAgain = time.Second

func (b *sessions) beat(s *session, stop chan struct{}) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		b.mu.Lock()
		next := s.left(driver.Now()) - s.lasts/2
		b.mu.Unlock()
		pause.Reset(max(next, 0))
		select {
		case <-pause.C:
		case <-stop:
			return
		case <-s.gone:
			return
		case <-b.engine.life.Done():
			return
		}
		if next > 0 {
			continue // somebody else may have renewed it meanwhile
		}
		b.mu.Lock()
		f := b.renew(s)
		b.mu.Unlock()
		<-f.done
		if f.err == nil {
			continue
		}
		pause.Reset(beatAgain)
		select {
		case <-pause.C:
		case <-stop:
			return
		case <-b.engine.life.Done():
			return
		}
	}
}
