// Package naive implements a lock with a few commands of Redis, as many programs do: without a token, without renewal,
// and with the time counted from the answer. The cases show how it breaks.
package naive

import (
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
)

// Server is a server as one client sees it. An error means that there was no answer.
type Server interface {
	// SetIfAbsent is SET key value NX PX ttl, or SETNX if the ttl is 0.
	SetIfAbsent(key, value string, ttl time.Duration) (bool, error)
	// Delete is GETDEL: DEL that also returns the old value, so that the demo can tell whose lock it was.
	Delete(key string) (was string, err error)
	// DeleteIf deletes a key if it has that value, in one step.
	DeleteIf(key, value string) (bool, error)
}

// Lock is the lock of one key as one client uses it.
type Lock struct {
	Client  string
	Key     string
	Servers []Server // the holder is whoever has the key on most of them
	Options scenario.NaiveOptions
	TTL     time.Duration
	// RetryInterval is the time between two attempts, and RetryLimit how long Lock tries.
	RetryInterval, RetryLimit time.Duration

	Now   func() time.Duration
	Sleep func(time.Duration)
	// ForEach calls a function for 0 to n-1, concurrently if it can.
	ForEach func(n int, f func(i int))
}

// Lock tries until it has the lock, or until RetryLimit has passed; then it reports false.
func (l *Lock) Lock() (scenario.Lease, bool) {
	for end := l.Now() + l.RetryLimit; l.Now() < end; l.Sleep(l.RetryInterval) {
		if l.tryLock() {
			return &lease{lock: l, until: l.Now() + l.TTL}, true // counted from the answer, as many programs do
		}
	}
	return nil, false
}

// tryLock asks all servers once. Without a majority, it deletes what it has set.
func (l *Lock) tryLock() bool {
	ttl := l.TTL
	if l.Options.NoExpiry {
		ttl = 0
	}
	granted := make([]bool, len(l.Servers))
	l.ForEach(len(l.Servers), func(i int) {
		ok, err := l.Servers[i].SetIfAbsent(l.Key, l.Client, ttl)
		granted[i] = ok && err == nil
	})
	votes := 0
	for _, ok := range granted {
		if ok {
			votes++
		}
	}
	if votes > len(l.Servers)/2 {
		return true
	}
	l.ForEach(len(l.Servers), func(i int) {
		if granted[i] {
			_, _ = l.Servers[i].DeleteIf(l.Key, l.Client) // or it expires
		}
	})
	return false
}

// lease is a lock that the client believes to hold until some time has passed.
type lease struct {
	lock  *Lock
	until time.Duration
}

// Token implements [scenario.Lease]: there is none.
func (*lease) Token() uint64 { return 0 }

// IsOver implements [scenario.Lease].
func (l *lease) IsOver() bool { return !l.lock.Options.NoExpiry && l.lock.Now() >= l.until }

// LostEvent implements [scenario.Lease]: the event never happens.
func (l *lease) LostEvent() scenario.Event { return scenario.EventOf(l.lock.Client, "is told") }

// Release implements [scenario.Lease].
func (l *lease) Release() (remark string) {
	servers := l.lock.Servers
	remarks := make([]string, len(servers))
	l.lock.ForEach(len(servers), func(i int) {
		if !l.lock.Options.PlainDelete {
			_, _ = servers[i].DeleteIf(l.lock.Key, l.lock.Client) // or it expires
			return
		}
		if was, err := servers[i].Delete(l.lock.Key); err == nil && was != "" && was != l.lock.Client {
			remarks[i] = "DEL deletes " + was + "'s lock"
		}
	})
	for _, r := range remarks {
		if r != "" {
			return r
		}
	}
	return ""
}
