package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// faultyServers are servers that forget nothing, each behind a proxy.
type faultyServers struct {
	*testing.T
	servers []*redisserver.Server
	proxies []*redisserver.Proxy
}

func newFaultyServers(t *testing.T) *faultyServers {
	f := &faultyServers{T: t}
	for range 3 {
		s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}})
		f.servers = append(f.servers, s)
		f.proxies = append(f.proxies, redisserver.ProxyForTest(t, s.Addr()))
	}
	return f
}

// program is one program: a client for each server.
type program []*objects.Client

// open returns a program, which goes through the proxies. Its clients of go-redis repeat requests, as they do unless
// they are told not to.
func (f *faultyServers) open() (p program) {
	for _, proxy := range f.proxies {
		rdb := goredis.NewClient(&goredis.Options{Addr: proxy.Addr(), ContextTimeoutEnabled: len(p) > 0})
		c, err := objects.New(rdb, objects.WithWatchdogTimeout(3*time.Second),
			objects.WithClient(leasehold.WithRequestTimeout(time.Second)))
		must(f.T, err)
		f.Cleanup(func() { must(f.T, errors.Join(c.Close(), rdb.Close())) })
		p = append(p, c)
	}
	return p
}

// strike loses one of 20 requests or replies until ctx ends, and lets the servers forget their scripts again and again.
// Each is killed once, and started again with what it has kept.
func (f *faultyServers) strike(ctx context.Context, d time.Duration) {
	for _, p := range f.proxies {
		p.Intercept(func(request []byte) redisserver.Action {
			if !bytes.Contains(request, []byte("eval")) || rand.N(20) > 0 {
				return redisserver.Pass
			}
			return []redisserver.Action{redisserver.CutBefore, redisserver.CutAfter}[rand.N(2)]
		})
		defer p.Intercept(nil)
	}
	began := time.Now()
	for killed := 0; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		for _, s := range f.servers {
			_, err := s.Command("SCRIPT", "FLUSH")
			must(f.T, err)
		}
		if killed < len(f.servers) && time.Since(began) > d*time.Duration(killed+1)/time.Duration(len(f.servers)+1) {
			f.servers[killed].Kill()
			must(f.T, f.servers[killed].Restart())
			killed++
		}
	}
}

// mustForget checks that soon no key is left but counters, numbers of permits, and what remembers requests and latches
// for a time.
func (f *faultyServers) mustForget() {
	f.Helper()
	for i, s := range f.servers {
		var left []string
		for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
			keys, err := s.Command("KEYS", "*")
			must(f.T, err)
			left = nil
			for _, key := range keys.([]any) {
				stays := func(prefix string) bool { return strings.HasPrefix(key.(string), prefix) }
				if !slices.ContainsFunc([]string{"redisson_lock_token:", "leasehold_permits_set:", "leasehold_latch:",
					"leasehold_semaphore:", "permits", "semaphore"}, stays) {
					left = append(left, key.(string))
				}
			}
			if len(left) == 0 {
				break
			}
		}
		if len(left) > 0 {
			f.Errorf("server %d: left behind: %q", i+1, left)
		}
	}
}

// thing is what a program holds.
type thing struct {
	shared    bool // beside others
	permits   int  // or 0 for a lock
	isHeld    func() bool
	downgrade func() error // if it may become shared
	end       func() error
}

// taker takes an object, or returns nil if it was refused.
type taker func(ctx context.Context, wait time.Duration) (*thing, error)

// poolSize is how many permits the semaphores have.
const poolSize = 3

// takers are all objects that are held, as one thread of a program takes them.
var takers = map[string]func(p program) taker{
	"Lock":       func(p program) taker { return takeLock(p[0].Lock("lock"), false) },
	"FencedLock": func(p program) taker { return takeLock(p[0].FencedLock("fenced"), false) },
	"SpinLock":   func(p program) taker { return takeLock(p[0].SpinLock("spin"), false) },
	"FairLock":   func(p program) taker { return takeLock(p[0].FairLock("fair"), false) },
	"MultiLock": func(p program) taker {
		m, _ := objects.NewMultiLock(p[0].Lock("multi 1"), p[0].FairLock("multi 2"), p[1].Lock("multi 3"))
		return takeLock(m, false)
	},
	"RedLock": func(p program) taker {
		m, _ := objects.NewRedLock(p[0].Lock("red"), p[1].Lock("red"), p[2].Lock("red"))
		return takeLock(m, false)
	},
	"ReadWriteLock": func(p program) taker {
		l := p[0].ReadWriteLock("readwrite")
		return func(ctx context.Context, wait time.Duration) (*thing, error) {
			if rand.N(3) > 0 {
				return takeLock(l.ReadLock(), true)(ctx, wait)
			}
			held, err := takeLock(l.WriteLock(), false)(ctx, wait)
			if held != nil && rand.N(2) == 0 {
				held.isHeld = func() bool { writes, reads := l.HoldCounts(); return writes+reads > 0 }
				held.downgrade = func() error {
					end := held.end
					held.end = func() error { return errors.Join(end(), l.RUnlock()) }
					err := l.RLock(ctx)
					if err == nil {
						err = end()
					}
					if err == nil {
						held.end = l.RUnlock
					}
					return err
				}
			}
			return held, err
		}
	},
	"Semaphore": func(p program) taker {
		s := p[0].Semaphore("semaphore")
		return func(ctx context.Context, wait time.Duration) (*thing, error) {
			limited, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			n := 1 + rand.N(2)
			ok, err := true, error(nil)
			if rand.N(2) == 0 {
				err = s.Acquire(limited, n)
			} else {
				ok, err = s.TryAcquire(limited, n)
			}
			if err != nil || !ok {
				return nil, err
			}
			return &thing{permits: n, isHeld: func() bool { return true },
				end: func() error { return s.Release(context.Background(), n) }}, nil
		}
	},
	"PermitExpirableSemaphore": func(p program) taker {
		s := p[0].PermitExpirableSemaphore("permits", poolSize, leasehold.WaitLimit(300*time.Millisecond))
		return func(ctx context.Context, _ time.Duration) (*thing, error) {
			n := 1 + rand.N(2)
			lease, err := s.Acquire(ctx, n)
			if err != nil {
				return nil, err
			}
			return &thing{permits: n, isHeld: func() bool { return lease.Err() == nil }, end: lease.Release}, nil
		}
	},
}

// locker is what locks and multi-locks have.
type locker interface {
	Lock(ctx context.Context, opts ...objects.LockOption) error
	TryLock(ctx context.Context, opts ...objects.LockOption) (bool, error)
	Unlock() error
	HoldCount() int
}

// takeLock takes a lock, once or twice.
func takeLock(l locker, shared bool) taker {
	return func(ctx context.Context, wait time.Duration) (*thing, error) {
		opts := []objects.LockOption{objects.WaitTime(wait)}
		if rand.N(4) == 0 {
			opts = append(opts, objects.LeaseTime(3*time.Second))
		}
		if ok, err := l.TryLock(ctx, opts...); err != nil || !ok {
			return nil, err
		}
		if rand.N(4) == 0 { // a longer lease asks the server
			if err := l.Lock(ctx, objects.LeaseTime(4*time.Second)); err != nil && l.HoldCount() > 1 {
				return nil, fmt.Errorf("held %d times after a second Lock: %w", l.HoldCount(), errCounted)
			}
		}
		isHeld := func() bool { return l.HoldCount() > 0 }
		return &thing{shared: shared, isHeld: isHeld, end: func() error {
			err := l.Unlock()
			for range 3 { // it is held twice, or the step from writing to reading has failed
				if isHeld() {
					err = l.Unlock()
				}
			}
			return err
		}}, nil
	}
}

var errCounted = errors.New("a Lock that failed was counted")

// expected are the errors that faults may lead to.
var expected = []error{
	leasehold.ErrUnavailable, leasehold.ErrTimeout, leasehold.ErrUnknown, context.Canceled, context.DeadlineExceeded,
	objects.ErrNotHeld, // the server was away for longer than the lease
}

func isExpected(err error) bool {
	return err == nil || slices.ContainsFunc(expected, func(e error) bool { return errors.Is(err, e) })
}

// holdings are those that hold one object.
type holdings struct {
	mu                      sync.Mutex
	writers, readers, taken int

	holds, failures atomic.Int64
	lost            atomic.Int64 // permits whose release has failed, and is not repeated
}

// add adds a thing with n = 1, and removes it with n = -1. It says what must not be.
func (h *holdings) add(x *thing, n int) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case x.permits > 0:
		h.taken += n * x.permits
	case x.shared:
		h.readers += n
	default:
		h.writers += n
	}
	if h.writers > 1 || h.writers == 1 && h.readers > 0 || h.taken > poolSize {
		return fmt.Sprintf("%d writers, %d readers, %d permits at once", h.writers, h.readers, h.taken)
	}
	return ""
}

// hold takes an object again and again, and may give up.
func (h *holdings) hold(ctx context.Context, t *testing.T, take taker) {
	note := func(err error) {
		if !isExpected(err) {
			t.Error(err)
		}
		if err != nil {
			h.failures.Add(1)
		}
	}
	enter := func(x *thing) {
		if wrong := h.add(x, 1); wrong != "" && x.isHeld() {
			t.Error(wrong)
		}
		time.Sleep(rand.N(3 * time.Millisecond))
		h.add(x, -1)
	}
	for ctx.Err() == nil {
		asking, cancel := context.WithCancel(ctx)
		givesUp := time.AfterFunc(rand.N(500*time.Millisecond), cancel)
		x, err := take(asking, 1+rand.N(300*time.Millisecond))
		givesUp.Stop()
		note(err)
		if x != nil {
			h.holds.Add(1)
			enter(x)
			if x.downgrade != nil {
				note(x.downgrade())
				x.shared = true // at least
				enter(x)
			}
			if err = x.end(); err != nil && !errors.Is(err, leasehold.ErrUnknown) {
				h.lost.Add(int64(x.permits))
			}
			note(err)
		}
		cancel()
	}
}

// Requests and replies are lost, scripts are forgotten, servers are killed and come back, and callers give up, all at
// random. For each object: no two hold it that must not, a Lock that fails is not counted, and nothing is left behind.
func TestObjectsAfterFaults(t *testing.T) {
	t.Parallel()
	f := newFaultyServers(t)
	const d = 4 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 15*d) // a busy machine needs more time to do enough
	defer cancel()
	direct := program{newClient(t, f.servers[0])}
	semaphore := direct[0].Semaphore("semaphore")
	_, err := semaphore.TrySetPermits(ctx, poolSize)
	must(t, err)
	all := map[string]*holdings{}
	var work sync.WaitGroup
	for range 3 {
		p := f.open()
		for kind, newTaker := range takers {
			if all[kind] == nil {
				all[kind] = &holdings{}
			}
			h := all[kind]
			for range 2 {
				work.Go(func() { h.hold(ctx, t, newTaker(p)) })
			}
		}
	}
	tooFew := func(h *holdings) bool { return h.holds.Load() == 0 || h.failures.Load() == 0 }
	work.Go(func() {
		for began := time.Now(); ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			if time.Since(began) >= d && !slices.ContainsFunc(slices.Collect(maps.Values(all)), tooFew) {
				cancel()
			}
		}
	})
	f.strike(ctx, d)
	work.Wait()
	for kind, h := range all {
		t.Logf("%s: %d holds, %d failures", kind, h.holds.Load(), h.failures.Load())
		if tooFew(h) {
			t.Errorf("%s: that is too few to be of use", kind)
		}
	}
	f.mustForget()

	limited, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	lease, err := direct[0].PermitExpirableSemaphore("permits", poolSize).Acquire(limited, poolSize)
	must(t, err)
	must(t, lease.Release())
	if n, err := f.servers[0].Command("GET", "permits"); n != fmt.Sprint(poolSize) || err != nil {
		t.Errorf("%v permits are there at the end, want %d; %v", n, poolSize, err)
	}
	for lost := int(all["Semaphore"].lost.Load()); ; time.Sleep(20 * time.Millisecond) { // some are undone later
		n, err := semaphore.AvailablePermits(t.Context())
		if n == poolSize-lost {
			break
		}
		if limited.Err() != nil {
			t.Fatalf("%d permits are there at the end, want %d without %d that stay taken; %v", n, poolSize, lost, err)
		}
	}
}

// Latches count once for each CountDown, whatever happens to its requests and answers, and nobody passes before.
func TestLatchesAfterFaults(t *testing.T) {
	t.Parallel()
	f := newFaultyServers(t)
	const d = 3 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	programs := []program{f.open(), f.open(), f.open()}
	direct := newClient(t, f.servers[0])
	struck := make(chan struct{})
	go func() { f.strike(ctx, d); close(struck) }()
	rounds, failures := 0, atomic.Int64{}
	for ; ctx.Err() == nil && !t.Failed(); rounds++ {
		name := fmt.Sprint("latch ", rounds)
		n := 2 * len(programs)
		var have, counted, unknown atomic.Int64
		var set, others, tried, passed sync.WaitGroup
		set.Add(n)
		others.Add(n - 1)
		tried.Add(n)
		for i := range n {
			l := programs[i%len(programs)][0].CountDownLatch(name)
			passed.Go(func() {
				for {
					did, err := l.TrySetCount(t.Context(), n)
					if did {
						have.Add(1)
					}
					if err == nil {
						break
					}
					failures.Add(1)
				}
				set.Done()
				set.Wait()
				if i == 0 { // the last one comes when all others have counted
					others.Wait()
					time.Sleep(rand.N(3 * time.Millisecond))
				}
				counted.Add(1)
				if _, err := l.CountDown(t.Context()); err != nil {
					failures.Add(1)
					unknown.Add(1)
				}
				tried.Done()
				if i > 0 {
					others.Done()
				}
				for err := errors.New("asks"); err != nil; {
					if err = l.Await(t.Context()); !isExpected(err) {
						t.Errorf("Await: %v", err)
						return
					}
				}
				if c := counted.Load(); c != int64(n) {
					t.Errorf("%s was passed after %d of %d", name, c, n)
				}
			})
		}
		tried.Wait()
		for left := 1; left > 0; { // those that are unknown may not have been counted
			var err error
			if left, err = direct.CountDownLatch(name).Count(t.Context()); err != nil {
				left = 1 // the server is away
				continue
			}
			if left > int(unknown.Load()) {
				t.Errorf("%s: %d are left, want at most %d", name, left, unknown.Load())
			}
			if left > 0 {
				_, _ = direct.CountDownLatch(name).CountDown(t.Context()) // it is asked again
			}
		}
		passed.Wait()
		if have.Load() > 1 {
			t.Errorf("%s was set %d times", name, have.Load())
		}
	}
	<-struck
	t.Logf("%d rounds, %d failures", rounds, failures.Load())
	f.mustForget()
}
