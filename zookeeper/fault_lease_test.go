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
	lost error     // the engine has said no
	stop context.CancelFunc
	done chan struct{}
}

// keep renews a hold from its grant on, until release or the end of the test.
func keep(t *testing.T, e *zookeeper.Engine, r driver.Request, g driver.Grant, asked time.Time) *lease {
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
			pause = 0 // a short lease, to begin with
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
			case err == nil && began.Before(l.end): // what is over is over
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

// until returns for how long the lease is good, as far as its holder knows.
func (l *lease) until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// good fails the test if the lease is not held now.
func (l *lease) good(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil || time.Now().After(l.end) {
		t.Errorf("the lease is over since %v: %v", time.Since(l.end), l.lost)
	}
}

// release ends the renewals, and then the lease.
func (l *lease) release(t *testing.T) {
	t.Helper()
	l.stop()
	<-l.done
	release(t, l.engine, l.request)
}

// waiting is one who waits for a grant, in a goroutine.
type waiting struct {
	request driver.Request
	cancel  context.CancelFunc
	done    chan struct{}
	grant   driver.Grant
	err     error
	at      time.Time // when the grant came
}

// queue joins the queue for what is held, and waits there.
func queue(t *testing.T, e *zookeeper.Engine, r driver.Request) *waiting {
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
		if err == nil || driver.IsPermanent(err) || time.Since(began) > unhurried {
			t.Fatalf("Take of what is held: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiting{request: r, cancel: cancel, done: make(chan struct{})}
	t.Cleanup(w.end)
	go func() {
		defer close(w.done)
		for {
			w.grant, w.err = e.Wait(ctx, r)
			w.at = time.Now()
			if w.err == nil || ctx.Err() != nil || driver.IsPermanent(w.err) {
				return
			}
			time.Sleep(10 * time.Millisecond) // as the core does, it asks again
		}
	}()
	return w
}

// end ends the waiting, and leaves the place in the queue.
func (w *waiting) end() {
	w.cancel()
	<-w.done
}

// granted waits for the grant.
func (w *waiting) granted(t *testing.T) driver.Grant {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(unhurried):
		t.Fatalf("no grant for %v", unhurried)
	}
	if w.err != nil {
		t.Fatalf("Wait: %v", w.err)
	}
	return w.grant
}

// waits fails the test if the grant has come.
func (w *waiting) waits(t *testing.T) {
	t.Helper()
	select {
	case <-w.done:
		t.Errorf("Wait answered %+v, %v before its turn", w.grant, w.err)
	default:
	}
}
