package redisson

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/lab/redisson/register"
	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// goClient is one program in Go: objects on some servers, and engines on the first.
type goClient struct {
	t       *testing.T
	addr    string // of the first server
	objects []*objects.Client
	direct  *objects.Client // for the first server, without faults
}

// newGoClient returns a client for servers at some addresses. With faults, what it releases at the end may be lost, but
// not at the address direct.
func newGoClient(t *testing.T, addrs []string, direct string, faults bool) *goClient {
	t.Helper()
	c := &goClient{t: t, addr: addrs[0]}
	for _, addr := range append(slices.Clone(addrs), direct) {
		rdb := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
		o, err := objects.New(rdb, objects.WithWatchdogTimeout(watchdog))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			err := errors.Join(o.Close(), rdb.Close())
			if err != nil && (!faults || !errors.Is(err, leasehold.ErrUnknown)) {
				t.Error(err)
			}
		})
		if len(c.objects) == len(addrs) {
			c.direct = o
			break
		}
		c.objects = append(c.objects, o)
	}
	return c
}

// engine returns a client of the library on an engine with a type of locks.
func (c *goClient) engine(lock redisson.LockType) *leasehold.Client {
	c.t.Helper()
	opts := []redisson.Option{redisson.WithLock(lock), redisson.WithJavaWatchdogTimeout(watchdog)}
	client := leasehold.New(newEngine(c.t, c.addr, opts...), leasehold.WithDefaults(leasehold.TTL(watchdog)))
	c.t.Cleanup(func() { _ = client.Close() }) // all is released
	return client
}

// held is what one client in Go holds.
type held struct {
	mode      register.Mode
	weight    int
	token     uint64
	end       func() error
	downgrade func(context.Context) error // if it may become a reader
}

// take takes an object, or returns nil if it was refused.
type take func(ctx context.Context, random *rand.Rand) (*held, error)

// waits returns how to wait: not at all, for a while, or without a limit.
func waits(random *rand.Rand) (limit time.Duration, forever bool) {
	switch random.IntN(3) {
	case 0:
		return 0, false
	case 1:
		return time.Millisecond + rand.N(100*time.Millisecond), false
	}
	return 0, true
}

// locker is what locks and multi-locks have.
type locker interface {
	Lock(ctx context.Context, opts ...objects.LockOption) error
	TryLock(ctx context.Context, opts ...objects.LockOption) (bool, error)
	Unlock() error
}

// takeAny takes a lock once or twice.
func takeAny(l locker) take {
	return func(ctx context.Context, random *rand.Rand) (*held, error) {
		ok, err := true, error(nil)
		if limit, forever := waits(random); forever {
			err = l.Lock(ctx)
		} else {
			ok, err = l.TryLock(ctx, objects.WaitTime(limit))
		}
		if err != nil || !ok {
			return nil, err
		}
		h := &held{mode: register.Exclusive, end: l.Unlock}
		if one, ok := l.(*objects.Lock); ok {
			h.token = one.Token()
		}
		if random.IntN(5) == 0 {
			if err := l.Lock(ctx); err != nil {
				return nil, err
			}
			h.end = func() error {
				if err := l.Unlock(); err != nil {
					return err
				}
				return l.Unlock()
			}
		}
		return h, nil
	}
}

func takeLock(c *goClient, name string) take   { return takeAny(c.objects[0].Lock(name)) }
func takeFenced(c *goClient, name string) take { return takeAny(c.objects[0].FencedLock(name)) }
func takeSpin(c *goClient, name string) take   { return takeAny(c.objects[0].SpinLock(name)) }
func takeFair(c *goClient, name string) take   { return takeAny(c.objects[0].FairLock(name)) }

func takeMulti(c *goClient, name string) take {
	m, err := objects.NewMultiLock(c.objects[0].Lock(name+"1"), c.objects[0].Lock(name+"2"))
	if err != nil {
		c.t.Error(err)
	}
	return takeAny(m)
}

func takeRed(c *goClient, name string) take {
	m, err := objects.NewRedLock(c.objects[0].Lock(name), c.objects[1].Lock(name), c.objects[2].Lock(name))
	if err != nil {
		c.t.Error(err)
	}
	return takeAny(m)
}

func takeReadWrite(c *goClient, name string) take {
	l := c.objects[0].ReadWriteLock(name)
	return func(ctx context.Context, random *rand.Rand) (*held, error) {
		h := &held{mode: register.Shared, end: l.RUnlock}
		lock, try := l.RLock, l.TryRLock
		if random.IntN(3) == 0 {
			h.mode, h.end, lock, try = register.Exclusive, l.Unlock, l.Lock, l.TryLock
		}
		if limit, forever := waits(random); !forever {
			ok, err := try(ctx, objects.WaitTime(limit))
			if err != nil || !ok {
				return nil, err
			}
			return h, nil
		}
		return h, lock(ctx)
	}
}

// takeSemaphore gives permits back without faults: nobody else would, as they have no lease.
func takeSemaphore(c *goClient, name string) take {
	s, direct := c.objects[0].Semaphore(name), c.direct.Semaphore(name)
	return func(ctx context.Context, random *rand.Rand) (*held, error) {
		n := 1 + random.IntN(2)
		h := &held{mode: register.Permit, weight: n}
		h.end = func() error { return direct.Release(context.Background(), n) }
		if _, forever := waits(random); forever {
			return h, s.Acquire(ctx, n)
		}
		ok, err := s.TryAcquire(ctx, n)
		if err != nil || !ok {
			return nil, err
		}
		return h, nil
	}
}

func takePermits(c *goClient, name string) take {
	s := c.objects[0].PermitExpirableSemaphore(name, capacity)
	return func(ctx context.Context, random *rand.Rand) (*held, error) {
		lease, err := s.Acquire(ctx, 1)
		if err != nil {
			return nil, err
		}
		return &held{mode: register.Permit, weight: 1, end: lease.Release}, nil
	}
}

func takePlain(c *goClient, name string) take {
	return takeMutex(c.engine(redisson.Plain), name, false)
}
func takeSpinEngine(c *goClient, name string) take {
	return takeMutex(c.engine(redisson.Spin), name, false)
}
func takeFencedEngine(c *goClient, name string) take {
	return takeMutex(c.engine(redisson.Fenced), name, true)
}
func takeFairEngine(c *goClient, name string) take {
	return takeMutex(c.engine(redisson.Fair), name, true)
}

// takeMutex takes a lock of the library, whose tokens grow or not.
func takeMutex(c *leasehold.Client, name string, tokens bool) take {
	m := c.Mutex(name)
	return func(ctx context.Context, random *rand.Rand) (*held, error) {
		lease, err := takeLease(ctx, random, m.Lock, m.TryLock)
		if lease == nil {
			return nil, err
		}
		h := &held{mode: register.Exclusive, end: lease.Release}
		if tokens {
			h.token = lease.Token()
		}
		return h, nil
	}
}

func takeReadWriteEngine(c *goClient, name string) take {
	m := c.engine(redisson.ReadWrite).RWMutex(name)
	return func(ctx context.Context, random *rand.Rand) (*held, error) {
		lock, try, mode := m.RLock, m.TryRLock, register.Shared
		if random.IntN(3) == 0 {
			lock, try, mode = m.Lock, m.TryLock, register.Exclusive
		}
		lease, err := takeLease(ctx, random, lock, try)
		if lease == nil {
			return nil, err
		}
		h := &held{mode: mode, end: lease.Release}
		if mode == register.Exclusive && random.IntN(4) == 0 {
			h.downgrade = lease.Downgrade
		}
		return h, nil
	}
}

// takeLease takes a lock of the library, or returns nil if it was refused.
func takeLease(
	ctx context.Context, random *rand.Rand, lock, try func(context.Context) (*leasehold.Lease, error),
) (*leasehold.Lease, error) {
	limit, forever := waits(random)
	if !forever && limit == 0 {
		lock = try
	} else if !forever {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = limited
	}
	lease, err := lock(ctx)
	if errors.Is(err, leasehold.ErrHeld) || errors.Is(err, context.DeadlineExceeded) && !forever {
		return nil, nil
	}
	return lease, err
}

// goWorker takes and holds an object at random, as the threads of a hammer in Java do.
type goWorker struct {
	register  *register.Register
	name, who string
	take      take
	random    *rand.Rand
	faults    bool // some requests and answers are lost
}

// isFault reports whether an error may come from a lost request or answer.
func (w goWorker) isFault(err error) bool {
	return w.faults && (errors.Is(err, leasehold.ErrUnavailable) || errors.Is(err, leasehold.ErrUnknown) ||
		errors.Is(err, context.DeadlineExceeded))
}

func (w goWorker) pause() { time.Sleep(time.Duration(w.random.Int64N(int64(5 * time.Millisecond)))) }

// run works until a time, and until it has held the object.
func (w goWorker) run(ctx context.Context, end time.Time) (holds, refused int, _ error) {
	for holds == 0 || time.Now().Before(end) {
		h, err := w.take(ctx, w.random)
		switch {
		case errors.Is(err, leasehold.ErrUnavailable), w.isFault(err): // or its wait was over before the answer
			refused++
			continue
		case err != nil:
			return holds, refused, err
		case h == nil:
			refused++
			w.pause()
			continue
		}
		holds++
		if err := w.hold(ctx, h); err != nil && !w.isFault(err) {
			return holds, refused, err
		}
		w.pause()
	}
	return holds, refused, nil
}

func (w goWorker) hold(ctx context.Context, h *held) error {
	enter := register.Hold{Name: w.name, Who: w.who, Mode: h.mode, Weight: h.weight, Token: int64(h.token)}
	if err := w.register.Enter(enter); err != nil {
		return err
	}
	w.pause()
	if err := w.register.Leave(w.name, w.who); err != nil {
		return err
	}
	if h.downgrade != nil {
		if err := h.downgrade(ctx); err != nil {
			return errors.Join(err, h.end())
		}
		enter.Mode = register.Shared
		if err := w.register.Enter(enter); err != nil {
			return err
		}
		w.pause()
		if err := w.register.Leave(w.name, w.who); err != nil {
			return err
		}
	}
	return h.end()
}

// newEngine returns an engine for a test, which closes it.
func newEngine(t *testing.T, addr string, opts ...redisson.Option) *redisson.Engine {
	t.Helper()
	rdb := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
	e, err := redisson.New(rdb, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(), rdb.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}
