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
	"weak"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/argument"
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
// makes the leases of all readers end after its own timeout. A reader in Go with a longer one may have lost the lock
// when its next renewal tells it so. No lease of a ReadWriteLock is longer than this.
func WithWatchdogTimeout(d time.Duration) Option {
	return func(c *config) error {
		c.watchdog = d
		if d < leasehold.MinTTL || d > leasehold.MaxTTL {
			return &redisson.OptionError{Option: "WithWatchdogTimeout", Allowed: "between 100ms and 24h"}
		}
		return nil
	}
}

// WithPrefix sets what precedes each name in its key, as a NameMapper does in Java. Defaults to nothing.
func WithPrefix(prefix string) Option { return WithEngine(redisson.WithPrefix(prefix)) }

// WithEngine sets options of the engine, such as redisson.WithMessages. It takes no redisson.WithLock: the methods of
// [Client] choose the type of a lock.
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

	lifetime    context.Context // ends with Close
	endLifetime context.CancelFunc
	running     sync.WaitGroup // calls; see begin

	mu     sync.Mutex
	closed bool
	// ofFair are the clients of fair locks. One that nobody uses any more, and that holds nothing, is garbage.
	ofFair map[weak.Pointer[leasehold.Client]]struct{}
}

// engine is one type of locks, and the client of the library that locks them.
type engine struct {
	*redisson.Engine
	client   *leasehold.Client
	watchdog time.Duration // how long a lock without a lease time stays taken after its holder has died
}

// New returns a client on one of go-redis, for a single server, for servers that Sentinels watch, or for a Cluster. The
// caller owns the client of go-redis, and closes it afterwards. New sends nothing. An invalid option is a
// *[redisson.OptionError].
func New(client goredis.UniversalClient, opts ...Option) (*Client, error) {
	c := &Client{
		config: config{watchdog: DefaultWatchdogTimeout}, ofFair: map[weak.Pointer[leasehold.Client]]struct{}{},
	}
	c.lifetime, c.endLifetime = context.WithCancel(context.Background())
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
		e, err := c.newEngine(client, each.lock)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		*each.to = e
	}
	return c, nil
}

// newEngine makes the engine of one type of locks.
func (c *Client) newEngine(client goredis.UniversalClient, lock redisson.LockType) (*engine, error) {
	opts := []redisson.Option{redisson.WithLock(lock), redisson.WithJavaWatchdogTimeout(max(c.watchdog, time.Second))}
	e, err := redisson.New(client, append(opts, c.engine...)...)
	if err != nil {
		return nil, err
	}
	watchdog := c.watchdog
	if limit := e.Abilities().MaxTTL; limit > 0 {
		watchdog = min(watchdog, limit)
	}
	made := &engine{e, leasehold.New(e, c.client...), watchdog}
	if e.LockType() != lock {
		return nil, errors.Join(&redisson.OptionError{
			Option: "WithEngine", Allowed: "used without WithLock: Lock, FairLock and the like choose the type",
		}, made.close())
	}
	return made, nil
}

func (e *engine) close() error { return errors.Join(e.client.Close(), e.Engine.Close()) }

// Close releases the locks that are still held, and ends background work. Calls that wait end, and later ones fail,
// with leasehold.ErrClosed. If a server does not answer, Close gives up after 5 s. Permits of a [Semaphore] have no
// owner: they stay taken.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	var clients []*leasehold.Client
	for each := range c.ofFair {
		if own := each.Value(); own != nil {
			clients = append(clients, own)
		}
	}
	c.mu.Unlock()
	c.endLifetime()
	engines := slices.DeleteFunc([]*engine{c.plain, c.fenced, c.spin, c.readWrite, c.fair},
		func(e *engine) bool { return e == nil })
	for _, e := range engines {
		clients = append(clients, e.client)
	}
	errs := make([]error, len(clients))
	var closing sync.WaitGroup
	for i, each := range clients {
		closing.Go(func() { errs[i] = each.Close() })
	}
	closing.Wait()
	c.running.Wait() // those that waited leave the queues now
	for _, e := range engines {
		errs = append(errs, e.Engine.Close())
	}
	return errors.Join(errs...)
}

// begin counts a call, until running is done. It fails after Close.
func (c *Client) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return leasehold.ErrClosed
	}
	c.running.Add(1)
	return nil
}

// work calls f in a goroutine, for which Close waits.
func (c *Client) work(f func()) {
	if c.begin() != nil {
		go f() // it ends at once
		return
	}
	go func() {
		defer c.running.Done()
		f()
	}()
}

// ask calls f, which sends one request, and turns its error into one of the library. The context of f also ends after
// the time that a request may take.
func (c *Client) ask(
	ctx context.Context, op string, kind driver.Kind, name string, f func(context.Context) error,
) error {
	return c.call(ctx, op, kind, name, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, leasehold.DefaultRequestTimeout)
		defer cancel()
		return f(ctx)
	})
}

// change calls f, which sends one request that changes something. If nobody knows whether it has, the error is
// leasehold.ErrUnknown.
func (c *Client) change(
	ctx context.Context, op string, kind driver.Kind, name string, f func(context.Context) error,
) error {
	var failed error
	err := c.ask(ctx, op, kind, name, func(ctx context.Context) error {
		failed = f(ctx)
		return failed
	})
	if failed != nil && !driver.HadNoEffect(failed) {
		return &leasehold.Error{Op: op, Kind: kind, Name: name, Err: leasehold.ErrUnknown, Cause: failed}
	}
	return err
}

// call calls f, which talks with the server, and turns its error into one of the library. The context of f also ends
// with Close.
func (c *Client) call(
	ctx context.Context, op string, kind driver.Kind, name string, f func(context.Context) error,
) error {
	fail := func(err, cause error) error {
		return &leasehold.Error{Op: op, Kind: kind, Name: name, Err: err, Cause: cause}
	}
	if ctx.Err() != nil {
		return fail(ctx.Err(), context.Cause(ctx))
	} else if !argument.IsText(name) {
		return &leasehold.ValueError{Field: "name", Value: argument.Describe(name), Allowed: argument.AllowedText}
	}
	if err := c.begin(); err != nil {
		return fail(err, nil)
	}
	defer c.running.Done()
	living, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.lifetime, cancel)()
	err := f(living)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, driver.ErrInvalid):
		return fail(leasehold.ErrInvalid, err)
	case ctx.Err() != nil:
		return fail(ctx.Err(), whyEnded(ctx, err))
	case c.lifetime.Err() != nil:
		return fail(leasehold.ErrClosed, nil)
	}
	return fail(leasehold.ErrUnavailable, err)
}

// whyEnded returns why a call ended with its context. If that was the deadline, and the server was away until then, the
// cause says so, as in the library. err is what the engine returned.
func whyEnded(ctx context.Context, err error) error {
	waited, failed := errors.AsType[*redisson.WaitError](err)
	if !failed || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", leasehold.ErrUnavailable, waited.Failed)
}

// newFairClient returns a client of the library for one value of a fair lock.
func (c *Client) newFairClient() *leasehold.Client {
	own := leasehold.New(c.fair.Engine, c.client...)
	key := weak.Make(own)
	c.mu.Lock()
	closed := c.closed
	c.ofFair[key] = struct{}{}
	c.mu.Unlock()
	if closed {
		_ = own.Close() // it holds nothing
	}
	runtime.AddCleanup(own, c.forget, key)
	return own
}

// forget forgets a client that is garbage.
func (c *Client) forget(key weak.Pointer[leasehold.Client]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ofFair, key)
}

// Lock returns an RLock of Redisson, from getLock.
func (c *Client) Lock(name string) *Lock { return c.newLock(c.plain, name) }

// FencedLock returns a lock with tokens: an RFencedLock of Redisson, from getFencedLock. It excludes locks of the same
// name from [Client.Lock].
func (c *Client) FencedLock(name string) *Lock { return c.newLock(c.fenced, name) }

// SpinLock returns a lock whose waiters poll: an RSpinLock of Redisson, from getSpinLock. It excludes locks of the same
// name from [Client.Lock].
func (c *Client) SpinLock(name string) *Lock { return c.newLock(c.spin, name) }

// FairLock returns a lock that is granted in the order in which it was asked for, in Java and in Go: an RFairLock of
// Redisson, from getFairLock. Each FairLock has a place of its own in the queue. [redisson.Fair] tells what the clocks
// of programs have to do with it.
func (c *Client) FairLock(name string) *Lock { return c.newLock(c.fair, name) }

func (c *Client) newLock(e *engine, name string) *Lock {
	return &Lock{c.newHolder(e, name), driver.Exclusive}
}
