package redisson

import (
	"fmt"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/redis/internal/replicas"
)

// Option configures an engine when it is made.
type Option func(*config) error

// config is what options set.
type config struct {
	prefix, semaphorePrefix, latchPrefix string

	lock LockType

	javaWatchdog time.Duration // bounds the ttl of ReadWrite

	confirm replicas.Confirmation // of leases; see WithReplicas

	messages  Messages
	isCluster bool
}

// OptionError says which option has an invalid value.
type OptionError struct {
	// Option is the option's name, such as "WithPrefix".
	Option string
	// Allowed says what is valid.
	Allowed string
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("redisson engine: %s must be %s", e.Option, e.Allowed)
}

// LockType is the object of Redisson that an engine uses for its locks. Programs share a lock only if they use the same
// object for it, except that Fenced is shared with RLock, RFencedLock and RSpinLock alike.
type LockType int

// The types of locks.
const (
	// Fenced is RFencedLock, the default: an RLock with tokens.
	Fenced LockType = iota
	// Plain is RLock: as Fenced, but nothing is stored beside the lock. The tokens of its leases are the client's clock
	// in microseconds: they grow only as long as the clocks of clients agree, so a resource must not rely on them.
	Plain
	// Spin is RSpinLock: the same as Plain, but waiters poll with growing pauses instead of being notified. Its holders
	// in Java notify nobody, so whoever waits behind them should use this type, too.
	Spin
	// ReadWrite is RReadWriteLock. Waiters are served in no order: as in Java, writers may wait for as long as readers
	// keep coming. No lease may be longer than [WithJavaWatchdogTimeout] says.
	//
	// Tokens and texts about holders are in one more key, "leasehold_holders:{name}". Programs in Java have no token.
	ReadWrite
	// Fair is RFairLock. Waiters in Go and Java are served in the order in which they joined. Of the callers of one
	// client of the library, one is in the queue at a time.
	//
	// As in Redisson, clients judge by their clocks whether a waiter is still there. So the order and the delays below
	// depend on clocks; who holds does not. A waiter that has died delays those behind it:
	//
	//   - in Go, by up to 5 s from when the lock is free; by up to the watchdog timeout more (30 s by default) if all
	//     others are in Java, which ask when the lease that they know of would have ended;
	//   - in Java, by up to the time that it wanted to wait (fairLockWaitTimeout, 5 minutes by default);
	//   - by 2 s in Go and 15 s in Java if a program in Go unlocks or waits behind it: that sees that nobody listens
	//     for the waiter's messages. Redisson may take 10 s to connect again. By up to 1 s more if Java unlocks, as a
	//     waiter in Go asks once a second;
	//   - by so much longer as the clock of the client that judges is behind.
	//
	// A client whose clock is 5 s or more ahead of that of a waiter in Go takes the waiter for dead; the waiter then
	// joins again, at the end of the queue. A waiter in Go asks again each second, and loses its place if it cannot
	// reach the server for 5 s.
	//
	// A waiter in Java removes itself from the queue when its deadline has passed, even if it waits for a lock that is
	// held. While programs in Go hold the lock or wait for it, they raise the deadlines of those in Java that listen.
	// They do not see listeners in a Cluster whose messages are not sharded, or at replicas (subscriptionMode SLAVE).
	//
	// An engine of this type has no semaphores, since Redisson's serve waiters in no order: use another engine.
	Fair
)

// lockTypes are the types as words of a URL.
var lockTypes = []string{Fenced: "fenced", Plain: "plain", Spin: "spin", ReadWrite: "readwrite", Fair: "fair"}

// String returns the word for the type in a URL, such as "fenced".
func (t LockType) String() string { return wordOf(lockTypes, t, "LockType") }

// wordOf returns the word for a value, or its number if there is none.
func wordOf[V ~int](words []string, value V, kind string) string {
	if value < 0 || int(value) >= len(words) {
		return fmt.Sprintf("%s(%d)", kind, value)
	}
	return words[value]
}

// WithLock sets as which object of Redisson the engine keeps its locks. Defaults to Fenced.
func WithLock(t LockType) Option {
	return func(c *config) error {
		c.lock = t
		if t < 0 || int(t) >= len(lockTypes) {
			return &OptionError{"WithLock", "one of the lock types of this package"}
		}
		return nil
	}
}

// WithPrefix sets what precedes each name in its key, as a NameMapper of Redisson does. Defaults to nothing.
func WithPrefix(prefix string) Option {
	return setPrefix("WithPrefix", prefix, func(c *config) *string { return &c.prefix })
}

// WithSemaphorePrefix sets what precedes the names of semaphores, after the prefix of all names. Without it, a lock and
// a semaphore of the same name have the same key, and the one that comes second gets an error. Defaults to nothing.
func WithSemaphorePrefix(prefix string) Option {
	return setPrefix("WithSemaphorePrefix", prefix, func(c *config) *string { return &c.semaphorePrefix })
}

// WithLatchPrefix sets what precedes the names of latches, as [WithSemaphorePrefix] does for semaphores.
func WithLatchPrefix(prefix string) Option {
	return setPrefix("WithLatchPrefix", prefix, func(c *config) *string { return &c.latchPrefix })
}

func setPrefix(option, prefix string, field func(*config) *string) Option {
	return func(c *config) error {
		*field(c) = prefix
		if len(prefix) > 128 || strings.ContainsAny(prefix, "{}\x00") {
			return &OptionError{option, "at most 128 bytes without braces"}
		}
		return nil
	}
}

// Messages says how waiters in a Cluster are notified of a release. All programs that share locks must agree, those in
// Java by shardedSubscriptionMode. Outside of a Cluster it has no effect.
type Messages int

// The kinds of messages.
const (
	// Auto is Sharded if the servers can do it, which Redis can since 7.0.
	Auto Messages = iota
	// Sharded sends messages with SPUBLISH, to subscribers of the same shard.
	Sharded
	// Unsharded sends messages with PUBLISH, to all servers.
	Unsharded
)

// messageKinds are the kinds of messages as words of a URL.
var messageKinds = []string{Auto: "auto", Sharded: "sharded", Unsharded: "unsharded"}

// String returns the word for the kind in a URL, such as "auto".
func (m Messages) String() string { return wordOf(messageKinds, m, "Messages") }

// WithMessages sets how waiters in a Cluster are notified. Defaults to Auto.
func WithMessages(m Messages) Option {
	return func(c *config) error {
		c.messages = m
		if m < Auto || m > Unsharded {
			return &OptionError{"WithMessages", "Auto, Sharded or Unsharded"}
		}
		return nil
	}
}

// DefaultJavaWatchdogTimeout is Redisson's default of lockWatchdogTimeout.
const DefaultJavaWatchdogTimeout = 30 * time.Second

// WithJavaWatchdogTimeout says which lockWatchdogTimeout programs in Java have that share [ReadWrite] locks with the
// engine: the shortest, if they differ. No lease of those locks may be longer. The keys of all readers end together,
// and the watchdog of a reader in Java makes them end after its own timeout, however long the leases of others last.
// At least 1 second. Defaults to 30 seconds, as in Java.
//
// It renews nothing. How long leases last in Go is set by leasehold.TTL, or by WithWatchdogTimeout of package objects.
func WithJavaWatchdogTimeout(d time.Duration) Option {
	return func(c *config) error {
		c.javaWatchdog = d
		if d < time.Second {
			return &OptionError{"WithJavaWatchdogTimeout", "at least 1s"}
		}
		return nil
	}
}
