package leasehold

import (
	"log/slog"
	"time"
	"unicode/utf8"
)

// Limits of what may be asked for.
const (
	// DefaultTTL is how long a lease lasts unless TTL says otherwise, or the engine gives shorter leases only: then it is the longest of those.
	DefaultTTL = 30 * time.Second
	// MinTTL is the shortest lease: below it, the time for a request and the
	// allowance for clocks leave too little to work in.
	MinTTL = 100 * time.Millisecond
	// MaxTTL is the longest lease. An engine may have a lower limit of its own.
	MaxTTL = 24 * time.Hour
	// MaxName is the length of the longest name, in bytes.
	MaxName = 1024
	// DefaultRequestTimeout is how long one request to the engine may take unless
	// WithRequestTimeout says otherwise.
	DefaultRequestTimeout = 5 * time.Second
)

// Option is a setting of one lock. A value that is not allowed is reported as a
// *ValueError by the first call that uses the lock.
type Option func(*settings)

type settings struct {
	ttl       time.Duration
	noRenew   bool
	maxHold   time.Duration // 0: no limit
	atLeast   time.Duration
	waitLimit time.Duration // 0: no limit
	label     string
	err       error // the first value that was not allowed
}

func (s *settings) refuse(field string, value any, allowed string) {
	if s.err == nil {
		s.err = invalid(field, value, allowed)
	}
}

// TTL sets how long a lease lasts if it is not renewed, and so how long a lock stays
// taken after its holder has died: 100 ms to 24 h, by default 30 s. Renewal
// comes every third of it. Shorter frees the lock of a dead holder sooner;
// longer rides out longer troubles of the network.
func TTL(d time.Duration) Option {
	return func(s *settings) {
		if d < MinTTL || d > MaxTTL {
			s.refuse("TTL", d, MinTTL.String()+" to "+MaxTTL.String())
			return
		}
		s.ttl = d
	}
}

// NoRenew lets the lease end at its first deadline: it is not renewed, unless by
// Lease.Extend.
func NoRenew() Option {
	return func(s *settings) { s.noRenew = true }
}

// MaxHold ends a lease that has been held for d, however well its renewal works: its
// context is cancelled with ErrMaxHold and the lock is given up. At least 100 ms; by default there is no limit.
func MaxHold(d time.Duration) Option {
	return func(s *settings) {
		if d < MinTTL {
			s.refuse("MaxHold", d, "at least "+MinTTL.String())
			return
		}
		s.maxHold = d
	}
}

// AtLeast keeps the lock taken for d after it was granted, even if it is released
// sooner, so that a job which several machines start at about the same time runs once although
// it is quick and their clocks differ. At most 24 h; by default a release frees the lock at once.
// A holder that dies frees the lock after its ttl all the same.
func AtLeast(d time.Duration) Option {
	return func(s *settings) {
		if d < 0 || d > MaxTTL {
			s.refuse("AtLeast", d, "0s to "+MaxTTL.String())
			return
		}
		s.atLeast = d
	}
}

// WaitLimit limits how long Lock and its kin wait; after that they return ErrTimeout, or ErrUnavailable if the engine has not said by then
// that it is held. By default they wait until their context ends.
func WaitLimit(d time.Duration) Option {
	return func(s *settings) {
		if d <= 0 {
			s.refuse("WaitLimit", d, "above zero (TryLock does not wait at all)")
			return
		}
		s.waitLimit = d
	}
}

// Label sets the class under which observers count the lock, as in "order". Use few
// different ones: names have no bound and so are no good for metrics. Others see it in
// the text about the holder, unless that was set with WithHolder.
func Label(class string) Option {
	return func(s *settings) {
		if len(class) > MaxName || !utf8.ValidString(class) {
			s.refuse("Label", class, "valid UTF-8 of at most 1024 bytes")
			return
		}
		s.label = class
	}
}

// ClientOption is a setting of a client. A value that is not allowed is reported as a
// *ValueError by the first call that uses the client.
type ClientOption func(*Client)

// WithLogger sets where the client logs what nobody is there to be told: leases lost, in danger, or
// dropped without release, and clean-up that failed. Of each message there are at most 20 lines in 10 s, and one that says how many were left out;
// a [LostObserver] and its like hear of each. By default it is silent.
func WithLogger(l *slog.Logger) ClientOption {
	return func(c *Client) {
		if l == nil {
			c.defaults.refuse("logger", "nil", "a *slog.Logger; leave the option out for silence")
			return
		}
		c.log.to = l
	}
}

// WithHolder sets the public text that tells others who holds a lock: 1 to 1024 bytes of valid UTF-8 without NUL. By default it is that of Process,
// with the host, the process id, the name of the program, and the label of the lock. Set it where these should not be seen, or
// to what you know a process by. It must not be secret: it is stored with the lock, and whoever can list locks can read it.
func WithHolder(text string) ClientOption {
	return func(c *Client) {
		if !validText(text) {
			c.defaults.refuse("holder", text, allowedText)
			return
		}
		c.holder, c.ownText = text, true
	}
}

// WithRequestTimeout limits how long one request to the engine may take, by default
// 5 s; requests for leases with a short ttl are given less. It does not limit how long
// Lock waits for its turn.
func WithRequestTimeout(d time.Duration) ClientOption {
	return func(c *Client) {
		if d <= 0 {
			c.defaults.refuse("request timeout", d, "above zero")
			return
		}
		c.requestTimeout = d
	}
}

// WithHandOver limits how often in a row a lock is handed to the next waiter of this process
// without asking the engine, by default 64 times. It also ends after 10 ms, and as
// soon as the engine knows of a waiter elsewhere. Zero turns it off: each grant is then the
// engine's own.
func WithHandOver(most int) ClientOption {
	return func(c *Client) {
		if most < 0 || most > 10_000 {
			c.defaults.refuse("hand-over limit", most, "0 to 10000")
			return
		}
		c.handOver = most
	}
}

// WithDefaults sets options for all locks of the client. Those of a lock come on top.
func WithDefaults(opts ...Option) ClientOption {
	return func(c *Client) {
		for _, o := range opts {
			o(&c.defaults)
		}
	}
}
