package objects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// DefaultWatchdogTimeout is lockWatchdogTimeout of Redisson: how long a lock stays taken after its holder has died.
const DefaultWatchdogTimeout = 30 * time.Second

// Option configures a client when it is made.
type Option func(*config) error

type config struct {
	watchdog time.Duration
	engine   []redisson.Option
	client   []leasehold.ClientOption
}

// WithWatchdogTimeout sets the lease of locks that are taken without one: they are renewed every third of it. It is
// lockWatchdogTimeout of Redisson. At least 100 ms, at most 24 h. Defaults to [DefaultWatchdogTimeout].
//
// Programs that share a [ReadWriteLock] need the same one, or the shortest of all: the watchdog of a reader in Java
// makes the leases of all readers end after its own timeout, so that readers in Go with a longer one could lose the
// lock without a word. No lease of a ReadWriteLock is longer than this.
func WithWatchdogTimeout(d time.Duration) Option {
	return func(c *config) error {
		c.watchdog = d
		if d < leasehold.MinTTL || d > leasehold.MaxTTL {
			return fmt.Errorf("redisson: the watchdog timeout must be between %s and %s",
				leasehold.MinTTL, leasehold.MaxTTL)
		}
		return nil
	}
}

// WithEngine sets options of the engine, such as the prefix of all names, which a NameMapper sets in Java.
func WithEngine(opts ...redisson.Option) Option {
	return func(c *config) error {
		c.engine = append(c.engine, opts...)
		return nil
	}
}

// WithClient sets options of the library, such as a logger and observers.
func WithClient(opts ...leasehold.ClientOption) Option {
	return func(c *config) error {
		c.client = append(c.client, opts...)
		return nil
	}
}

// WithLogger is WithClient(leasehold.WithLogger(l)): warnings go there. By default, nothing is logged.
func WithLogger(l *slog.Logger) Option { return WithClient(leasehold.WithLogger(l)) }

// Client makes objects that are called as in Redisson. It is safe for concurrent use.
type Client struct {
	config
	plain, fenced, spin, readWrite, fair *engine

	running sync.WaitGroup // calls that lock; see begin

	mu      sync.Mutex
	waiting map[*leasehold.Client]struct{} // one for each fair lock; nil after Close
}

// engine is one type of locks, and the client of the library that locks them.
type engine struct {
	*redisson.Engine
	client *leasehold.Client
}

// holders asks the server for the holders of a lock.
func (e *engine) holders(ctx context.Context, name string) ([]driver.Holder, error) {
	ctx, cancel := context.WithTimeout(ctx, leasehold.DefaultRequestTimeout)
	defer cancel()
	all, err := e.List(ctx, driver.Query{Kind: driver.Lock, Name: name})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0].Holders, nil
}

// forceUnlock takes a lock away from all that hold it now, and reports whether anybody did.
func (e *engine) forceUnlock(ctx context.Context, name string) (found bool, _ error) {
	holders, err := e.holders(ctx, name)
	for _, h := range holders {
		ctx, cancel := context.WithTimeout(ctx, leasehold.DefaultRequestTimeout)
		err = e.ForceRelease(ctx, driver.Key{Kind: driver.Lock, Name: name}, h.Token)
		cancel()
		switch {
		case err == nil:
			found = true
		case errors.Is(err, driver.ErrNotHeld): // it has unlocked meanwhile
			err = nil
		default:
			return found, err
		}
	}
	return found, err
}

// New returns a client on one of go-redis, for a single server, for servers that Sentinels watch, or for a Cluster. The
// caller owns the client of go-redis, and closes it afterwards. New sends nothing.
func New(client goredis.UniversalClient, opts ...Option) (*Client, error) {
	c := &Client{
		config: config{watchdog: DefaultWatchdogTimeout}, waiting: map[*leasehold.Client]struct{}{},
	}
	for _, opt := range opts {
		if err := opt(&c.config); err != nil {
			return nil, err
		}
	}
	for _, each := range []struct {
		to   **engine
		lock redisson.LockType
	}{
		{&c.plain, redisson.Plain}, {&c.fenced, redisson.Fenced}, {&c.spin, redisson.Spin},
		{&c.readWrite, redisson.ReadWrite}, {&c.fair, redisson.Fair},
	} {
		opts := append([]redisson.Option{redisson.WithJavaWatchdogTimeout(max(c.watchdog, time.Second))}, c.engine...)
		e, err := redisson.New(client, append(opts, redisson.WithLock(each.lock))...)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		*each.to = &engine{e, leasehold.New(e, c.client...)}
	}
	return c, nil
}

// Close releases the locks that are still held, and ends background work. All calls fail afterwards. Permits of a
// [redisson.Semaphore] have no owner: they stay taken.
func (c *Client) Close() error {
	c.mu.Lock()
	fair := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	var errs []error
	for each := range fair {
		errs = append(errs, each.Close())
	}
	engines := slices.DeleteFunc([]*engine{c.plain, c.fenced, c.spin, c.readWrite, c.fair},
		func(e *engine) bool { return e == nil })
	for _, e := range engines {
		errs = append(errs, e.client.Close())
	}
	c.running.Wait() // those that waited leave the queues now
	for _, e := range engines {
		errs = append(errs, e.Engine.Close())
	}
	return errors.Join(errs...)
}

// begin counts a call that locks, until running is done. It fails after Close.
func (c *Client) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		return leasehold.ErrClosed
	}
	c.running.Add(1)
	return nil
}

// Lock returns a lock that is called RLock in Redisson, from getLock.
func (c *Client) Lock(name string) *Lock { return c.newLock(name, c.plain, lockMutex) }

// FencedLock returns a lock with tokens, which is called RFencedLock in Redisson, from getFencedLock. It excludes locks
// of the same name from [Client.Lock].
func (c *Client) FencedLock(name string) *Lock {
	l := c.newLock(name, c.fenced, lockMutex)
	l.fenced = true
	return l
}

// SpinLock returns a lock whose waiters poll, which is called RSpinLock in Redisson, from getSpinLock. It excludes
// locks of the same name from [Client.Lock].
func (c *Client) SpinLock(name string) *Lock { return c.newLock(name, c.spin, lockMutex) }

// FairLock returns a lock that is granted in the order in which it was asked for, in Java and in Go: RFairLock in
// Redisson, from getFairLock. Each FairLock has a place of its own in the queue. What the clocks of programs have to do
// with it is told at [redisson.Fair].
func (c *Client) FairLock(name string) *Lock {
	// In one client of the library, only the first of several callers would be in the queue of the server.
	own := leasehold.New(c.fair.Engine, c.client...)
	c.mu.Lock()
	closed := c.waiting == nil
	if !closed {
		c.waiting[own] = struct{}{}
	}
	c.mu.Unlock()
	if closed {
		_ = own.Close() // nothing is held
	}
	l := c.newLock(name, &engine{c.fair.Engine, own}, lockMutex)
	runtime.AddCleanup(l, c.forget, own)
	return l
}

// forget drops the client of a fair lock that is not used any more.
func (c *Client) forget(own *leasehold.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, own)
}

// Semaphore returns a semaphore without leases, which is called RSemaphore in Redisson, from getSemaphore.
func (c *Client) Semaphore(name string) *redisson.Semaphore { return c.plain.Engine.Semaphore(name) }

// PermitExpirableSemaphore returns a semaphore whose permits have leases: RPermitExpirableSemaphore in Redisson, from
// getPermitExpirableSemaphore. permits is how many there are if no program has set another number, as trySetPermits
// does. The permits of a lease are renewed, as the watchdog does with locks, which Redisson itself does not offer for
// permits.
func (c *Client) PermitExpirableSemaphore(name string, permits int, opts ...leasehold.Option) *leasehold.Semaphore {
	return c.plain.client.Semaphore(name, permits, append([]leasehold.Option{leasehold.TTL(c.watchdog)}, opts...)...)
}

// newLock returns a lock of a type.
func (c *Client) newLock(name string, e *engine, lock lockFunc) *Lock {
	return &Lock{name: name, engine: e, watchdog: c.watchdog, lock: lock, calls: newTurn(), owner: c}
}

// lockFunc takes a lock, or tries to.
type lockFunc func(ctx context.Context, c *leasehold.Client, name string, wait bool, opts []leasehold.Option) (
	*leasehold.Lease, error)

// lockMutex locks exclusively.
func lockMutex(
	ctx context.Context, c *leasehold.Client, name string, wait bool, opts []leasehold.Option,
) (*leasehold.Lease, error) {
	m := c.Mutex(name, opts...)
	if wait {
		return m.Lock(ctx)
	}
	return m.TryLock(ctx)
}
