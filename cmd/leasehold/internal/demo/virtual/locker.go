package virtual

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// locker takes locks as leasehold does, on one server or on most of several.
type locker struct {
	*client
	attempts int
}

// Lock implements [stage.Client].
func (l *locker) Lock() (stage.Lease, bool) {
	for end := l.now + l.patience(); l.now < end; l.Sleep(l.beat()) {
		if lease := l.take(); lease != nil {
			l.Go(lease.renew)
			return lease, true
		}
	}
	return nil, false
}

// take asks all servers once. It returns nil if the lock is not to be had.
func (l *locker) take() *lease {
	l.attempts++
	a := &lease{client: l.client, owner: fmt.Sprintf("%s-%d", l.name, l.attempts)}
	sent := l.now // the lease counts from here
	l.hop()
	token, ok := a.vote()
	l.answered()
	if !ok {
		a.drop() // what a minority has granted
		return nil
	}
	a.token, a.deadline = token, sent+valid(l.ttl)
	if l.now >= a.deadline {
		l.tape.Mark(l.name, tape.Note, "the grant is too late: not used")
		a.drop()
		return nil
	}
	return a
}

// valid is how long a lease is good for. The rest is for clocks that run at different rates.
func valid(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// vote asks all servers to grant the lock to the owner, and makes those of a majority agree on the largest of their tokens.
func (a *lease) vote() (token uint64, ok bool) {
	granted := map[int]uint64{}
	defer func() { a.touched = len(granted) > 0 }()
	floor := uint64(a.now.Microseconds()) // so that tokens go on growing where a server has forgotten them
	a.each(func(i int, s *server) {
		if s.now() < s.opens {
			return // it has no vote yet
		}
		g, err := s.engine.Take(context.Background(), driver.Request{
			Key: lockKey, Owner: a.owner, Size: 1, Weight: 1, TTL: a.ttl, Tokens: 1, Floor: floor, Holder: a.name,
		})
		if err == nil {
			granted[i] = g.Token
			token = max(token, g.Token)
		}
	})
	agree := 0
	a.each(func(i int, s *server) {
		stands, has := granted[i]
		if has && stands < token {
			has = s.engine.Raise(context.Background(), driver.Raise{Key: lockKey, Owner: a.owner, Token: token, Tokens: 1}) == nil
		}
		if has {
			agree++
		}
	})
	return token, a.majority(agree)
}

var lockKey = driver.Key{Kind: driver.Lock, Name: key}
