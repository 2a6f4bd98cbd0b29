package simulated

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// locker takes locks as leasehold does, on one server or on most of several.
type locker struct {
	*client
	attempts int
}

// Lock implements [scenario.Client].
func (l *locker) Lock() (scenario.Lease, bool) {
	for end := l.now + l.waitLimit(); l.now < end; l.Sleep(l.pollInterval()) {
		if lease := l.tryLock(); lease != nil {
			l.Go(lease.keepRenewed)
			return lease, true
		}
	}
	return nil, false
}

// tryLock asks all servers once. It returns nil if the lock is not granted.
func (l *locker) tryLock() *lease {
	l.attempts++
	a := &lease{client: l.client, owner: fmt.Sprintf("%s-%d", l.name, l.attempts)}
	sent := l.now // the lease counts from here
	l.delayMessage()
	token, ok := a.requestVotes()
	l.receiveAnswers()
	if !ok {
		a.undo() // what a minority has granted
		return nil
	}
	a.token, a.deadline = token, sent+validity(l.ttl)
	if l.now >= a.deadline {
		l.recorder.AddPoint(l.name, timeline.Note, "the grant is too late: not used")
		a.undo()
		return nil
	}
	return a
}

// validity returns how long a lease can be relied on. The rest allows for clocks of different rates.
func validity(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// requestVotes asks all servers to grant the lock to the owner, and makes a majority agree on the largest of their
// tokens.
func (a *lease) requestVotes() (token uint64, ok bool) {
	granted := map[int]uint64{}
	defer func() { a.grantedSomewhere = len(granted) > 0 }()
	floor := uint64(a.now.Microseconds()) // so that tokens keep growing where a server has forgotten them
	a.eachServer(func(i int, s *server) {
		if s.now() < s.closedUntil {
			return // it has no vote yet
		}
		r := driver.Request{
			Key: lockKey, Owner: a.owner, Size: 1, Weight: 1, TTL: a.ttl, Tokens: 1, Holder: a.name,
		}
		g, err := s.engine.TakeFrom(context.Background(), quorumnode.Request{Request: r, Floor: floor})
		if err == nil {
			granted[i] = g.Token
			token = max(token, g.Token)
		}
	})
	agree := 0
	a.eachServer(func(i int, s *server) {
		stands, has := granted[i]
		if has && stands < token {
			has = s.engine.Raise(context.Background(),
				quorumnode.Raise{Key: lockKey, Owner: a.owner, Token: token, Tokens: 1}) == nil
		}
		if has {
			agree++
		}
	})
	return token, a.isMajority(agree)
}

var lockKey = driver.Key{Kind: driver.Lock, Name: key}
