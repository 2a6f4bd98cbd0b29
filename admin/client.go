package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/argument"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// Client shows and repairs what is on one engine. It holds no locks and starts no goroutine, so there is nothing to
// close. All methods are safe for concurrent use.
type Client struct {
	engine         driver.Engine
	operator       driver.Operator
	abilities      driver.Abilities
	requestTimeout time.Duration
	ttl            time.Duration
	maxWaiters     int
	log            *slog.Logger
	err            error // a value given to New that is not allowed: every call fails with it
}

// Option is a setting of a client. A value that is not allowed is reported as a *leasehold.ValueError by the first call
// that uses the client.
type Option func(*Client)

// WithRequestTimeout limits how long one request to the engine may take, by default 5 s. A call may send several.
func WithRequestTimeout(d time.Duration) Option {
	return func(c *Client) {
		if d <= 0 {
			c.refuse("request timeout", d, "above zero")
			return
		}
		c.requestTimeout = d
	}
}

// WithTTL says how long leases on this engine usually last, as in leasehold.TTL. Examine then finds servers that are
// too slow for it. By default it is the default ttl of leasehold.
func WithTTL(d time.Duration) Option {
	return func(c *Client) {
		if d < leasehold.MinTTL || d > leasehold.MaxTTL {
			c.refuse("TTL", d, leasehold.MinTTL.String()+" to "+leasehold.MaxTTL.String())
			return
		}
		c.ttl = d
	}
}

// DefaultMaxWaiters is how many callers may wait for one name, unless leasehold.WithMaxWaiters says otherwise.
const DefaultMaxWaiters = 10_000

// WithMaxWaiters says how many callers may wait for one name, as in leasehold.WithMaxWaiters. Examine then finds names
// that have nearly as many. By default it is DefaultMaxWaiters.
func WithMaxWaiters(n int) Option {
	return func(c *Client) {
		if n < 1 || n > math.MaxInt32 {
			c.refuse("limit of waiters", n, "1 to 2147483647")
			return
		}
		c.maxWaiters = n
	}
}

// WithLogger sets where the client logs what no caller is told: that the outcome of a forced release was not recorded.
// By default it logs nothing.
func WithLogger(l *slog.Logger) Option {
	return func(c *Client) {
		if l == nil {
			c.refuse("logger", "nil", "a *slog.Logger; leave the option out for silence")
			return
		}
		c.log = l
	}
}

// New returns a client of the engine, and sends nothing. A nil engine or an option that is not allowed is reported as a
// *leasehold.ValueError by the first use of the client.
func New(engine driver.Engine, opts ...Option) *Client {
	c := &Client{
		engine:         engine,
		requestTimeout: leasehold.DefaultRequestTimeout,
		ttl:            leasehold.DefaultTTL,
		maxWaiters:     DefaultMaxWaiters,
		log:            slog.New(slog.DiscardHandler),
	}
	if engine == nil {
		c.refuse("engine", nil, "an engine, as from memory.New")
		return c
	}
	c.abilities, c.operator = engine.Abilities(), driver.OperatorOf(engine)
	if maxTTL := c.abilities.MaxTTL; maxTTL > 0 {
		c.ttl = min(c.ttl, maxTTL)
	}
	for _, o := range opts {
		o(c)
	}
	return c
}

// Format implements [fmt.Formatter]. Every verb, and package log/slog, print the engine's name, and no internal state.
func (c *Client) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "admin client on %q", c.abilities.Name)
}

// refuse keeps the first value given to New that is not allowed.
func (c *Client) refuse(field string, value any, allowed string) {
	if c.err == nil {
		c.err = newValueError(field, value, allowed)
	}
}

func newValueError(field string, value any, allowed string) error {
	return &leasehold.ValueError{Field: field, Value: argument.Describe(value), Allowed: allowed}
}

// checkName returns an error if a name is not allowed.
func checkName(name string) error {
	if !argument.IsText(name) {
		return newValueError("name", name, argument.AllowedText)
	}
	return nil
}

// newKey returns the key of a name of some kind, or an error if either is not allowed.
func newKey(kind driver.Kind, name string) (driver.Key, error) {
	if err := checkName(name); err != nil {
		return driver.Key{}, err
	}
	if kind < driver.Lock || kind > driver.Latch {
		return driver.Key{}, newValueError("kind", kind, "driver.Lock, driver.Semaphore or driver.Latch")
	}
	return driver.Key{Kind: kind, Name: name}, nil
}

// call is one call of a method, as its error shows it.
type call struct {
	op  string
	key driver.Key // zero if the call is not about one name
}

// fail returns the error of the call.
func (c call) fail(err, cause error) error {
	return &leasehold.Error{Op: c.op, Kind: c.key.Kind, Name: c.key.Name, Err: err, Cause: cause}
}

// failIfEnded returns an error if the caller's context has ended.
func (c call) failIfEnded(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return c.fail(err, context.Cause(ctx))
	}
	return nil
}

// failWith turns an error of the engine into the error of the call. ctx is the caller's context.
func (c call) failWith(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, driver.ErrNotHeld):
		return c.fail(leasehold.ErrLost, nil)
	case errors.Is(err, driver.ErrUnsupported):
		return c.fail(leasehold.ErrUnsupported, nil)
	case errors.Is(err, driver.ErrInvalid):
		return c.fail(leasehold.ErrInvalid, err)
	case timelimit.ErrAtDeadline(ctx) != nil:
		return c.failIfEnded(ctx)
	case !errors.Is(err, context.DeadlineExceeded):
		return c.fail(leasehold.ErrUnavailable, err)
	case driver.HadNoEffect(err):
		return c.fail(leasehold.ErrUnavailable, driver.NoEffect(timelimit.ErrNoAnswer))
	}
	return c.fail(leasehold.ErrUnavailable, timelimit.ErrNoAnswer) // the limit of a request, not the caller's deadline
}

// send sends one request. It has a time limit, and the engine returns when that has passed or ctx ends.
func send[T any](ctx context.Context, c *Client, a call, f func(context.Context) (T, error)) (T, error) {
	var none T
	if err := a.failIfEnded(ctx); err != nil {
		return none, err
	}
	limited, cancel := context.WithTimeout(ctx, c.requestTimeout)
	defer cancel()
	value, err := f(limited)
	if err != nil {
		return none, a.failWith(ctx, err)
	}
	return value, nil
}

// sendOnly is send for a request that is answered with yes or no.
func sendOnly(ctx context.Context, c *Client, a call, f func(context.Context) error) error {
	_, err := send(ctx, c, a, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// stream yields what find visits, and then the error if there is one. The engine limits the time of the requests that
// find sends.
func stream[T any](
	ctx context.Context, a call, yield func(T, error) bool, find func(ctx context.Context, visit func(T) bool) error,
) {
	var none T
	if err := a.failIfEnded(ctx); err != nil {
		yield(none, err)
		return
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := false
	err := find(inner, func(item T) bool {
		stopped = stopped || !yield(item, nil)
		return !stopped
	})
	if !stopped && err != nil {
		yield(none, a.failWith(ctx, err))
	}
}
