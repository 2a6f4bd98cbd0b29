package redisson

import (
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// call is one script with its keys and arguments. The first key is the name of the object.
type call struct {
	script *redis.Script
	keys   []string
	args   []any
}

// protocol is how one kind of Redisson's objects is locked: the calls that go to the server. Takes are answered with
// {1, last token, ...} or {0, milliseconds until it is worth to ask again}, all others with 1 or 0.
type protocol interface {
	// take tries once to take what the request asks for. With join, a refused owner is in the queue, if there is one.
	take(name string, r driver.Request, join bool) call
	release(name string, r driver.Release, publish string) call
	renew(name string, r driver.Renewal) call
	downgrade(name string, h driver.Hold, publish string) call
	force(name string, token uint64, publish string) call
	// channel returns where a waiting owner is notified.
	channel(name, owner string) string
}

// exclusiveLock is the protocol of RLock and RFencedLock.
type exclusiveLock struct{ tokens bool }

func lockChannel(name string) string { return withPrefix("redisson_lock__channel", name) }
func tokenKey(name string) string    { return withPrefix("redisson_lock_token", name) }

func (p exclusiveLock) channel(name, _ string) string { return lockChannel(name) }

func (p exclusiveLock) take(name string, r driver.Request, _ bool) call {
	keys := []string{name}
	if p.tokens {
		keys = append(keys, tokenKey(name))
	}
	return call{lockTake, keys, []any{ownerID(r.Owner), toMillis(r.TTL), max(r.Tokens, 1), withoutNUL(r.Holder)}}
}

func (p exclusiveLock) release(name string, r driver.Release, publish string) call {
	return call{lockRelease, []string{name, lockChannel(name)},
		[]any{ownerID(r.Owner), publish, toMillis(r.Keep), ownerID("keep " + r.Owner)}}
}

func (p exclusiveLock) renew(name string, r driver.Renewal) call {
	return call{lockRenew, []string{name}, []any{ownerID(r.Owner), toMillis(r.TTL)}}
}

func (p exclusiveLock) downgrade(string, driver.Hold, string) call { return call{} }

func (p exclusiveLock) force(name string, token uint64, publish string) call {
	return call{lockForce, []string{name, lockChannel(name)}, []any{publish, token}}
}

// toMillis converts a duration for the scripts, rounded up.
func toMillis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// withoutNUL removes NUL bytes, at which the scripts would cut a text.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "") }
