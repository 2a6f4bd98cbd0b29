package leasehold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/holdertext"
	"github.com/leasehold-go/leasehold/internal/localqueue"
	"github.com/leasehold-go/leasehold/internal/loglimit"
	"github.com/leasehold-go/leasehold/internal/schedule"
	"github.com/leasehold-go/leasehold/internal/takelimit"
	"github.com/leasehold-go/leasehold/internal/taskqueue"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// Client makes locks on one engine. Use one client per process and engine: its locks share their renewals, and its
// callers wait for each other without asking the engine. All methods are safe for concurrent use.
type Client struct {
	engine            driver.Engine
	abilities         driver.Abilities
	log               *loglimit.Log
	observers         observers
	holder            string
	holderGiven       bool // holder was set with WithHolder
	requests          timelimit.Requests
	maxReservedTokens int
	maxWaiters        int
	maxLeases         int
	maxTTL            time.Duration       // the longest on this engine
	random            func(n int64) int64 // returns a number below n
	defaults          settings
	err               error // a value given to New that is not allowed: every call fails with it

	leaseCount atomic.Int64 // leases of the client, and calls that ask for one
	queue      localqueue.Queue[driver.Key, turnRequest, turnTransfer]
	schedule   schedule.Schedule[*hold] // what is due when for each hold
	takeLimits takelimit.Servers
	cleanups   taskqueue.Queue[*hold]
	leaving    leavings

	lifetime    context.Context // ends with Close
	endLifetime context.CancelCauseFunc
	closeOnce   sync.Once
	closeErrs   errorList // errors of the releases of Close
	closeErr    error     // what Close returned
}

// New returns a client of the engine. It starts no goroutine and sends nothing. A nil engine or an option that is not
// allowed is reported as a *ValueError by the first use of the client.
func New(engine driver.Engine, opts ...ClientOption) *Client {
	c := &Client{
		engine:            engine,
		log:               loglimit.New(slog.New(slog.DiscardHandler)),
		holder:            holdertext.Current().String(),
		requests:          timelimit.Requests{Timeout: DefaultRequestTimeout},
		maxReservedTokens: defaultHandOver,
		maxWaiters:        defaultMaxWaiters,
		maxLeases:         defaultMaxLeases,
		random:            rand.Int64N,
		maxTTL:            MaxTTL,
	}
	c.lifetime, c.endLifetime = context.WithCancelCause(context.Background())
	c.schedule.Init(c.handleAllDue)
	c.cleanups.Init(maxCleanups, c.schedule.Go, (*hold).cleanUpOnce)
	c.leaving.init(c)
	if engine != nil {
		c.abilities = engine.Abilities()
	}
	if limit := c.abilities.MaxTTL; limit > 0 {
		c.maxTTL = min(limit, MaxTTL)
	}
	c.defaults.ttl = min(DefaultTTL, c.maxTTL)
	for _, o := range opts {
		o(c)
	}
	if engine == nil {
		c.err = newValueError("engine", nil, "an engine, as from memory.New")
		return c
	}
	if r, several := engine.(driver.Router); several {
		c.takeLimits.Init(r.Route)
	} else {
		c.takeLimits.Init(nil)
	}
	c.err = c.defaults.err
	return c
}

// countLeases counts calls that are about to ask for one lease each, or refuses them. The caller uncounts those that
// fail; the others count as leases from then on.
func (c *Client) countLeases(l *lock, op string, calls int) error {
	if c.leaseCount.Add(int64(calls)) <= int64(c.maxLeases) {
		return nil
	}
	c.uncountLeases(calls)
	return l.newError(op, ErrFull, fmt.Errorf("it has or asks for %d leases, and WithMaxLeases allows no more: "+
		"release leases that are no longer needed, or raise the limit", c.maxLeases))
}

func (c *Client) uncountLeases(calls int) { c.leaseCount.Add(-int64(calls)) }

// Close releases everything that the client still holds, ends its background work, and makes all further calls fail
// with ErrClosed. If the engine does not answer, Close gives up after one request timeout and returns an ErrUnknown for
// each lease that is left; such a lock becomes free when its ttl has passed. The engine stays open: it belongs to the
// caller. Close may be called again, and then returns the same.
func (c *Client) Close() error {
	c.closeOnce.Do(func() {
		c.endLifetime(ErrClosed)
		holds := slices.Concat(c.schedule.Stop(), c.cleanups.Stop(), c.leaving.stop())
		var releases sync.WaitGroup
		slots := make(chan struct{}, maxCleanups)
		for _, h := range holds {
			slots <- struct{}{}
			releases.Go(func() {
				c.closeErrs.add(h.endOnClose())
				<-slots
			})
		}
		releases.Wait()
		c.schedule.Wait()
		c.log.Close()
		c.closeErr = c.closeErrs.join()
	})
	return c.closeErr
}

type errorList struct {
	mu   sync.Mutex
	errs []error
}

func (e *errorList) add(err error) {
	if err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.errs = append(e.errs, err)
	}
}

// hasNoAnswer reports whether the engine has not answered a request.
func (e *errorList) hasNoAnswer() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.errs, func(err error) bool { return errors.Is(err, timelimit.ErrNoAnswer) })
}

func (e *errorList) join() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.errs...)
}

// cancelOnClose returns a context that also ends when the client is closed, and a function that releases its resources.
func (c *Client) cancelOnClose(ctx context.Context) (context.Context, func()) {
	if ctx.Done() == nil { // only Close ends it
		return timelimit.WithValuesOf(c.lifetime, ctx), func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.lifetime, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Format implements [fmt.Formatter]. Every verb, and package log/slog, print the engine's name, and no internal state:
// that contains owners, and changes concurrently.
func (c *Client) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "client on %q", c.abilities.Name)
}
