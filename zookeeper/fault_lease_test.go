package zookeeper_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// lease is a hold that is renewed as the core does it.
type lease struct {
	engine  *zookeeper.Engine
	request driver.Request
	token   uint64

	mu   sync.Mutex
	end  time.Time // it is good for so long
	lost error     // the engine has refused
	stop context.CancelFunc
	done chan struct{}
}

// keepRenewed renews a hold from its grant on, until release or the end of the test.
func keepRenewed(t *testing.T, e *zookeeper.Engine, r driver.Request, g driver.Grant, asked time.Time) *lease {
	t.Helper()
	l := &lease{engine: e, request: r, token: g.Token, done: make(chan struct{})}
	ttl := r.TTL
	if g.TTL > 0 {
		ttl = g.TTL
	}
	if !g.Start.IsZero() {
		asked = g.Start.Time()
	}
	l.end = asked.Add(ttl)
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	t.Cleanup(func() {
		stop()
		<-l.done
	})
	go func() {
		defer close(l.done)
		pause := r.TTL / 3
		if ttl < r.TTL {
			pause = 0 // a short lease at first
		}
		for {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			began := time.Now()
			limited, cancel := context.WithTimeout(ctx, r.TTL/4)
			err := renew(limited, e, r)
			cancel()
			pause = r.TTL / 20
			l.mu.Lock()
			switch {
			case err == nil && began.Before(l.end): // a lease that is over stays over
				l.end = began.Add(r.TTL)
				pause = r.TTL / 3
			case errors.Is(err, driver.ErrNotHeld):
				l.lost = err
			}
			over := l.lost != nil
			l.mu.Unlock()
			if over {
				return
			}
		}
	}()
	return l
}

// state returns until when the lease is good, as far as its holder knows, and why it was lost, if it was.
func (l *lease) state() (end time.Time, lost error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end, l.lost
}

// until returns until when the lease is good, as far as its holder knows.
func (l *lease) until() time.Time {
	end, _ := l.state()
	return end
}

// isGood reports whether the lease is held now.
func (l *lease) isGood() bool {
	end, lost := l.state()
	return lost == nil && !time.Now().After(end)
}

// checkGood fails the test if the lease is not held now.
func (l *lease) checkGood(t *testing.T) {
	t.Helper()
	if !l.isGood() {
		end, lost := l.state()
		t.Errorf("the lease is over since %v: %v", time.Since(end), lost)
	}
}

// release ends the renewals, and then the lease.
func (l *lease) release(t *testing.T) {
	t.Helper()
	l.stop()
	<-l.done
	release(t, l.engine, l.request)
}

// waiter waits for a grant, in a goroutine.
type waiter struct {
	request driver.Request
	cancel  context.CancelFunc
	done    chan struct{}
	grant   driver.Grant
	err     error
	at      time.Time // when the grant came
}

// queue joins the queue of a name that is held, and waits there.
func queue(t *testing.T, e *zookeeper.Engine, r driver.Request) *waiter {
	t.Helper()
	r.Join = true
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := within(t, time.Second, func(ctx context.Context) error {
			_, err := e.Take(ctx, r)
			return err
		})
		if errors.Is(err, driver.ErrHeld) {
			break
		}
		if err == nil || driver.IsPermanent(err) || time.Since(began) > waitLimit {
			t.Fatalf("Take of what is held: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiter{request: r, cancel: cancel, done: make(chan struct{})}
	t.Cleanup(w.end)
	go func() {
		defer close(w.done)
		for {
			w.grant, w.err = e.Wait(ctx, r)
			w.at = time.Now()
			if w.err == nil || ctx.Err() != nil || driver.IsPermanent(w.err) {
				return
			}
			time.Sleep(10 * time.Millisecond) // the core also asks again
		}
	}()
	return w
}

// end ends the wait. The place in the queue stays.
func (w *waiter) end() {
	w.cancel()
	<-w.done
}

// granted waits for the grant.
func (w *waiter) granted(t *testing.T) driver.Grant {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(waitLimit):
		t.Fatalf("no grant for %v", waitLimit)
	}
	if w.err != nil {
		t.Fatalf("Wait: %v", w.err)
	}
	return w.grant
}

// checkWaits fails the test if the grant has come.
func (w *waiter) checkWaits(t *testing.T) {
	t.Helper()
	select {
	case <-w.done:
		t.Errorf("Wait answered %+v, %v before its turn", w.grant, w.err)
	default:
	}
}
