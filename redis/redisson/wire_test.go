package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/redissonwire"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// wireSide makes the recorded calls on engines.
type wireSide struct {
	t      *testing.T
	server *redisserver.Server
	lock   redisson.LockType

	mu         sync.Mutex
	engines    map[string]*redisson.Engine
	held       map[string]driver.Request // by thread and name
	labels     map[string]string
	owners     int
	interrupts map[string]context.CancelFunc
}

// newWireSide starts a server, for clients with a type of locks.
func newWireSide(t *testing.T, lock redisson.LockType) *wireSide {
	t.Helper()
	return &wireSide{t: t, server: redisserver.ForTest(t, redisserver.Config{}), lock: lock,
		engines: map[string]*redisson.Engine{}, held: map[string]driver.Request{}, labels: map[string]string{},
		interrupts: map[string]context.CancelFunc{}}
}

func (s *wireSide) Open(_ context.Context, client string, _ map[string]string) error {
	rdb := goredis.NewClient(&goredis.Options{Addr: s.server.Addr(), ClientName: client, ContextTimeoutEnabled: true})
	e, err := redisson.New(rdb, redisson.WithLock(s.lock))
	if err != nil {
		return err
	}
	s.t.Cleanup(func() {
		if err := errors.Join(e.Close(), rdb.Close()); err != nil {
			s.t.Error(err)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.engines[client] = e
	return nil
}

func (s *wireSide) Begin(context.Context, string, string) error { return nil }

func (s *wireSide) Labels() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.labels)
}

func (s *wireSide) Interrupt(_ context.Context, client, thread string) error {
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		cancel := s.interrupts[client+":"+thread]
		s.mu.Unlock()
		if cancel != nil { // else its call has not begun yet
			cancel()
			return nil
		}
	}
	return fmt.Errorf("thread %s makes no call", thread)
}

// begin begins a call that can be interrupted until it has ended.
func (s *wireSide) begin(ctx context.Context, c redissonwire.Call) (_ context.Context, end func()) {
	thread := c.Client + ":" + c.Thread
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupts[thread] = cancel
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.interrupts, thread)
	}
}

// newRequest returns the request of a thread, by a new owner.
func (s *wireSide) newRequest(thread, name string, mode driver.Mode) driver.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners++
	r := request(fmt.Sprint("owner", s.owners), name, mode)
	r.TTL = 30 * time.Second
	s.labels[redisson.OwnerID(r.Owner)] = thread
	return r
}

func (s *wireSide) Call(ctx context.Context, c redissonwire.Call) (any, error) {
	ctx, end := s.begin(ctx, c)
	defer end()
	s.mu.Lock()
	e, thread := s.engines[c.Client], c.Client+":"+c.Thread
	slot := thread + " " + c.Op[:1] + " " + c.Name
	r, holds := s.held[slot]
	s.mu.Unlock()

	kind, method, _ := strings.Cut(c.Op, ".")
	mode := driver.Exclusive
	if kind == "read" {
		mode = driver.Shared
	}
	switch method {
	case "lock", "tryLock", "lockInterruptibly", "lockAndGetToken", "tryLockAndGetToken":
		r = s.newRequest(thread, c.Name, mode)
		err := s.take(ctx, e, r, method, c.Args)
		if err == nil {
			s.mu.Lock()
			s.held[slot] = r
			s.mu.Unlock()
		}
		return err == nil, nil
	case "unlock":
		if !holds {
			return nil, redissonwire.Failure("IllegalMonitorStateException")
		}
		s.mu.Lock()
		delete(s.held, slot)
		s.mu.Unlock()
		_ = e.Release(ctx, driver.Release{Hold: holdOf(r)})
	case "forceUnlock", "delete":
		list, err := e.List(ctx, driver.Query{Kind: driver.Lock, Name: c.Name})
		if err != nil || len(list) == 0 {
			return false, err
		}
		for _, h := range list[0].Holders {
			if h.Mode != mode {
				return false, nil
			}
			if err := e.ForceRelease(ctx, list[0].Key, h.Token); err != nil {
				return false, err
			}
		}
	}
	return nil, nil
}

// take does what lock, tryLock and lockInterruptibly do with their arguments: [wait] lease "ms".
func (s *wireSide) take(ctx context.Context, e *redisson.Engine, r driver.Request, method string, args []any) error {
	var times []time.Duration
	for _, a := range args {
		if ms, ok := a.(int64); ok {
			times = append(times, time.Duration(ms)*time.Millisecond)
		}
	}
	if len(times) > 0 {
		r.TTL = times[len(times)-1]
	}
	tries := strings.HasPrefix(method, "try")
	waits := !tries || len(times) > 1 && times[0] > 0
	r.Join = waits
	_, err := e.Take(ctx, r)
	if !errors.Is(err, driver.ErrHeld) || !waits {
		return err
	}
	if tries {
		limited, cancel := context.WithTimeout(ctx, times[0])
		defer cancel()
		ctx = limited
	}
	if _, err = e.Wait(ctx, r); err != nil {
		_ = e.Release(context.WithoutCancel(ctx), driver.Release{Hold: holdOf(r)})
	}
	return err
}
