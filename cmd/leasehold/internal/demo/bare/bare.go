// Package bare locks with a few commands of Redis, as many programs do: without a token, without renewal, and with the time counted
// from the answer. It is what the cases break.
package bare

import (
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
)

// Server is what one client sees of a server. An error means that there was no answer.
type Server interface {
	// SetIfAbsent is SET key value NX PX ttl, or SETNX if the ttl is 0.
	SetIfAbsent(key, value string, ttl time.Duration) (bool, error)
	// Delete is GETDEL: DEL that says what was there, for the story.
	Delete(key string) (was string, err error)
	// DeleteIf deletes a key if it has that value, in one step.
	DeleteIf(key, value string) (bool, error)
}

// Lock is how one client locks one key.
type Lock struct {
	Client  string
	Key     string
	Servers []Server // it is held by whoever has it on most of them
	Recipe  stage.Recipe
	TTL     time.Duration
	// Beat is the time between two tries, and Patience how long it tries.
	Beat, Patience time.Duration

	Now   func() time.Duration
	Sleep func(time.Duration)
	// Each calls a function for 0 to n-1, at the same time if it can.
	Each func(n int, f func(i int))
}

// Lock tries until it has the lock, and reports false if it loses patience.
func (l *Lock) Lock() (stage.Lease, bool) {
	for end := l.Now() + l.Patience; l.Now() < end; l.Sleep(l.Beat) {
		if l.take() {
			return &lease{lock: l, until: l.Now() + l.TTL}, true // counted from the answer, as it is done everywhere
		}
	}
	return nil, false
}

// take asks all servers, and gives back what it was granted if that is no majority.
func (l *Lock) take() bool {
	ttl := l.TTL
	if l.Recipe.NoExpiry {
		ttl = 0
	}
	granted := make([]bool, len(l.Servers))
	l.Each(len(l.Servers), func(i int) {
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
	l.Each(len(l.Servers), func(i int) {
		if granted[i] {
			_, _ = l.Servers[i].DeleteIf(l.Key, l.Client) // or it runs out
		}
	})
	return false
}

// lease is a lock that the client takes for its own until some time has passed.
type lease struct {
	lock  *Lock
	until time.Duration
}

// Token implements [stage.Lease]: there is none.
func (*lease) Token() uint64 { return 0 }

// Over implements [stage.Lease].
func (l *lease) Over() bool { return !l.lock.Recipe.NoExpiry && l.lock.Now() >= l.until }

// Lost implements [stage.Lease]: nobody tells.
func (l *lease) Lost() stage.Moment { return stage.At(l.lock.Client, "is told") }

// Release implements [stage.Lease].
func (l *lease) Release() (remark string) {
	servers := l.lock.Servers
	remarks := make([]string, len(servers))
	l.lock.Each(len(servers), func(i int) {
		if !l.lock.Recipe.PlainDelete {
			_, _ = servers[i].DeleteIf(l.lock.Key, l.lock.Client) // or it runs out
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
