package postgres

import (
	"testing"
	"testing/synctest"
)

// The connection may break right after an attempt to connect has succeeded, before those who waited for it have seen
// its number. They wait for the next attempt: a waiter registered with the number 0 would get no messages.
func TestSubscribeWhileTheConnectionBreaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{ctx: t.Context()}
		e.waiters.init()
		s := &e.subscription
		s.init(e)
		s.active, s.attemptDone = true, make(chan struct{}) // as while run connects
		var number int64
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			number, err = s.subscribe(t.Context())
		}()
		synctest.Wait()

		s.mu.Lock() // what finishAttempt does, and run after the connection has broken
		close(s.attemptDone)
		s.attemptDone = make(chan struct{})
		s.mu.Unlock()
		synctest.Wait()
		s.finishAttempt(7, nil)

		if <-done; number != 7 || err != nil {
			t.Errorf("subscribe: %d, %v, want the number of the next connection", number, err)
		}
	})
}
