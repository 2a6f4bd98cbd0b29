package leasehold

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/localqueue"
)

// Client makes locks on one engine. One client per process and engine is
// best: its locks share their renewals, and its callers wait for each other without asking the
// engine. All methods may be used by many goroutines at the same time.
type Client struct {
	engine         driver.Engine
	abilities      driver.Abilities
	starter        driver.Starter // nil if the engine has not the ability Starts
	log            journal
	observers      observers
	holder         string
	ownText        bool // holder was set by the caller
	requestTimeout time.Duration
	handOver       int
	maxWaiters     int
	maxLeases      int
	random         func(n int64) int64 // below n
	defaults       settings
	err            error // why nothing works: a value given to New

	leases  atomic.Int64 // that there are, and that calls ask for
	queue   localqueue.Queue[driver.Key, want, gift]
	renewer renewer
	gates   gates
	crew    crew
	started sync.Pool // of *started that have been answered
	ending  span      // of callers whose context can end
	endless span      // of others
	sweeps  sweeps

	life   context.Context // ends with Close
	end    context.CancelCauseFunc
	work   sync.WaitGroup // background requests
	close  sync.Once
	failed failures // of Close
	unset  error    // what Close returned
}

// New returns a client of the engine. It starts nothing and sends nothing. A nil engine or an option
// that is not allowed is reported as a *ValueError by the first use of the client.
func New(engine driver.Engine, opts ...ClientOption) *Client {
	c := &Client{
		engine:         engine,
		log:            journal{to: slog.New(slog.DiscardHandler)},
		holder:         self().String(),
		requestTimeout: DefaultRequestTimeout,
		handOver:       64,
		maxWaiters:     DefaultMaxWaiters,
		maxLeases:      DefaultMaxLeases,
		random:         rand.Int64N,
		defaults:       settings{ttl: DefaultTTL},
	}
	c.life, c.end = context.WithCancelCause(context.Background())
	c.renewer.born = driver.Now()
	c.renewer.seen = c.renewer.born
	c.renewer.timer = time.AfterFunc(time.Hour, c.tick)
	c.renewer.timer.Stop()
	if engine != nil {
		c.abilities = engine.Abilities()
	}
	if most := c.abilities.MaxTTL; most > 0 {
		c.defaults.ttl = min(DefaultTTL, most)
	}
	for _, o := range opts {
		o(c)
	}
	if engine == nil {
		c.err = invalid("engine", nil, "an engine, as from memory.New")
		return c
	}
	c.gates.init(engine)
	if c.abilities.Starts {
		c.starter, _ = engine.(driver.Starter)
	}
	c.err = c.defaults.err
	return c
}

// Close releases whatever the client still holds, ends its background work, and makes all further
// calls fail with ErrClosed. If the engine does not answer, Close gives up when a request has had its
// time, and returns an ErrUnknown for each lease that stays behind; such a lock is free
// when its ttl has passed. The engine stays open: it belongs to the caller. Close may be
// called again; it then returns the same.
func (c *Client) Close() error {
	c.close.Do(func() {
		c.end(ErrClosed)
		holds := append(c.renewer.stop(), c.sweeps.stop()...)
		slots := make(chan struct{}, maxSweeps)
		for _, h := range holds {
			slots <- struct{}{}
			c.work.Go(func() {
				c.failed.add(h.closed())
				<-slots
			})
		}
		c.work.Wait()
		c.crew.close()
		c.log.close()
		c.unset = c.failed.join()
	})
	return c.unset
}

// failures collects errors from many goroutines.
type failures struct {
	mu   sync.Mutex
	errs []error
}

func (f *failures) add(err error) {
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.errs = append(f.errs, err)
	}
}

// hopeless reports whether the engine has left a request without an answer.
func (f *failures) hopeless() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.errs, func(err error) bool { return errors.Is(err, errNoAnswer) })
}

func (f *failures) join() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}
