package leasehold

import (
	"cmp"
	"log/slog"
	"math"
	"time"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/internal/argument"
	"github.com/leasehold-go/leasehold/internal/loglimit"
)

// Limits and defaults of options.
const (
	// DefaultTTL is how long a lease lasts unless TTL says otherwise. If the engine has a shorter longest lease, that
	// is the default.
	DefaultTTL = 30 * time.Second
	// MinTTL is the shortest lease. A shorter one would leave too little time after a request and the allowance for
	// clocks.
	MinTTL = 100 * time.Millisecond
	// MaxTTL is the longest lease. An engine may have a lower limit of its own.
	MaxTTL = 24 * time.Hour
	// DefaultRequestTimeout is how long one request to the engine may take unless WithRequestTimeout says otherwise.
	DefaultRequestTimeout = 5 * time.Second

	defaultMaxWaiters = 10_000 // also admin.DefaultMaxWaiters
	defaultMaxLeases  = 1_000_000
	defaultHandOver   = 64
)

// Option is a setting of one lock. A value that is not allowed is reported as a *ValueError by the first call that uses
// the lock.
type Option func(*settings)

type settings struct {
	ttl       time.Duration
	noRenew   bool
	maxHold   time.Duration // 0: no limit
	atLeast   time.Duration
	waitLimit time.Duration // 0: no limit
	linger    time.Duration
	label     string
	err       error // the first value that was not allowed
}

func (s *settings) refuse(field string, value any, allowed string) {
	if s.err == nil {
		s.err = newValueError(field, value, allowed)
	}
}

// set sets a value, or refuses it unless it is from least to most.
func set[T cmp.Ordered](s *settings, to *T, field string, value, least, most T, allowed string) {
	if value < least || value > most {
		s.refuse(field, value, allowed)
		return
	}
	*to = value
}

// TTL sets how long a lease lasts if it is not renewed, and so how long a lock stays taken after its holder has died:
// 100 ms to 24 h, by default 30 s. A lease is renewed every third of its ttl. A shorter ttl frees the lock of a dead
// holder sooner; a longer one survives longer outages of the network.
func TTL(d time.Duration) Option {
	return func(s *settings) { set(s, &s.ttl, "TTL", d, MinTTL, MaxTTL, MinTTL.String()+" to "+MaxTTL.String()) }
}

// NoRenew lets the lease end at its first deadline: only Lease.Extend renews it.
func NoRenew() Option {
	return func(s *settings) { s.noRenew = true }
}

// MaxHold ends a lease that has been held for d, even if its renewals succeed: its context is cancelled with ErrMaxHold
// and the lock is released. At least 100 ms; by default there is no limit.
func MaxHold(d time.Duration) Option {
	return func(s *settings) {
		set(s, &s.maxHold, "MaxHold", d, MinTTL, math.MaxInt64, "at least "+MinTTL.String())
	}
}

// AtLeast keeps the lock taken for d after it was granted, even if it is released sooner. So a short job that several
// machines start at about the same time runs once, although their clocks differ. At most 24 h; by default a release
// frees the lock at once. If the holder dies, the lock becomes free after its ttl all the same.
func AtLeast(d time.Duration) Option {
	return func(s *settings) { set(s, &s.atLeast, "AtLeast", d, 0, MaxTTL, "0s to "+MaxTTL.String()) }
}

// Linger keeps a released lock for d, from 1 ms to 24 h, in case this process wants it again: the next Lock of the same
// client and name with the same options is granted at once, with a new token, and without a request. Nobody else waits
// for longer: whoever wants the lock elsewhere recalls it, which takes about as long as a release. If this process has
// died, the lock is free after its ttl. A lock that lingers is renewed, counts as a lease of the client, and is listed
// as one that may be idle. None lingers while the client has more than half of the leases that WithMaxLeases allows.
//
// The engine must be able to recall, or the lock fails with ErrUnsupported. It is for Mutex.Lock and TryLock, and has
// no effect with NoRenew, MaxHold or AtLeast.
func Linger(d time.Duration) Option {
	return func(s *settings) { set(s, &s.linger, "Linger", d, time.Millisecond, MaxTTL, "1ms to "+MaxTTL.String()) }
}

// WaitLimit limits how long Lock and similar calls wait. After that they return ErrTimeout, or ErrUnavailable if the
// engine has not said by then that the name is held. By default they wait until their context ends.
func WaitLimit(d time.Duration) Option {
	return func(s *settings) {
		set(s, &s.waitLimit, "WaitLimit", d, 1, math.MaxInt64, "above zero (TryLock does not wait at all)")
	}
}

// Label sets the class under which observers count the lock, as in "order". Use few different labels: names are
// unbounded and so not suited for metrics. Others see the label in the holder text, unless that was set with
// WithHolder.
func Label(class string) Option {
	return func(s *settings) {
		if len(class) > argument.MaxText || !utf8.ValidString(class) {
			s.refuse("Label", class, "valid UTF-8 of at most 1024 bytes")
			return
		}
		s.label = class
	}
}

// ClientOption is a setting of a client. A value that is not allowed is reported as a *ValueError by the first call
// that uses the client.
type ClientOption func(*Client)

// WithLogger sets where the client logs events that no caller is told: leases lost, in danger, or dropped without
// release, and clean-up that failed. Each message is logged at most 20 times in 10 s, followed by the number of
// suppressed lines; a [LostObserver] and the like are told every time. By default the client logs nothing.
func WithLogger(l *slog.Logger) ClientOption {
	return func(c *Client) {
		if l == nil {
			c.defaults.refuse("logger", "nil", "a *slog.Logger; leave the option out for silence")
			return
		}
		c.log = loglimit.New(l)
	}
}

// WithHolder sets the public text that tells others who holds a lock: 1 to 1024 bytes of valid UTF-8 without NUL. By
// default it is the host, the process id, the name of the program, and the label of the lock. Set it if others must not
// see these, or to identify the process by a name of your own. It must not be a secret: it is stored with the lock, and
// anybody who can list locks can read it.
func WithHolder(text string) ClientOption {
	return func(c *Client) {
		if !argument.IsText(text) {
			c.defaults.refuse("holder", text, argument.AllowedText)
			return
		}
		c.holder, c.holderGiven = text, true
	}
}

// WithRequestTimeout limits how long one request to the engine may take, by default 5 s; requests for leases with a
// short ttl have less. It does not limit how long Lock waits.
func WithRequestTimeout(d time.Duration) ClientOption {
	return func(c *Client) {
		set(&c.defaults, &c.requests.Timeout, "request timeout", d, 1, math.MaxInt64, "above zero")
	}
}

// WithHandOver limits how often in a row a lock is handed over to the next waiter of this process without a request to
// the engine, by default 64 times. The hand-overs also end after 10 ms, which protects waiters elsewhere: an engine
// learns of them when it grants, if at all. If it knows of one, nothing is handed over. Zero turns hand-overs off: the
// engine makes every grant.
func WithHandOver(n int) ClientOption {
	return func(c *Client) { set(&c.defaults, &c.maxReservedTokens, "hand-over limit", n, 0, 10_000, "0 to 10000") }
}

// WithMaxWaiters limits how many callers may wait for one name, from 1 to 2147483647, by default 10,000. One more
// caller gets ErrTooManyWaiters at once. So calls that pile up on one name fill the memory neither of this process nor
// of the engine. The limit applies to the callers of this client, and separately to the engine's queue, where one
// caller of each client waits. Callers that already wait are never turned away. An engine may count roughly, or not at
// all: see its documentation.
func WithMaxWaiters(n int) ClientOption {
	return func(c *Client) {
		set(&c.defaults, &c.maxWaiters, "limit of waiters", n, 1, math.MaxInt32, "1 to 2147483647")
	}
}

// WithMaxLeases limits how many leases the client has and asks for at the same time, from 1 to 2147483647, by default
// 1,000,000. One more call gets ErrFull, and nothing is sent. So a program that takes more and more names fills neither
// the engine's memory nor its own. Calls that wait count, and so do leases that have ended but are not cleaned up yet;
// a lease that is entered again counts once.
func WithMaxLeases(n int) ClientOption {
	return func(c *Client) {
		set(&c.defaults, &c.maxLeases, "limit of leases", n, 1, math.MaxInt32, "1 to 2147483647")
	}
}

// WithDefaults sets options for all locks of the client. The options of a lock take precedence.
func WithDefaults(opts ...Option) ClientOption {
	return func(c *Client) {
		for _, o := range opts {
			o(&c.defaults)
		}
	}
}
