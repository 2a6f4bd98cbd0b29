package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
)

// SameServerError says that one server is there twice: its vote would count twice.
type SameServerError struct{ First, Second string }

// Error implements error.
func (e *SameServerError) Error() string {
	return fmt.Sprintf("redlock engine: %s and %s are the same server: name independent servers", e.First, e.Second)
}

// NotIndependentError says that a server is none that could vote.
type NotIndependentError struct {
	Server string
	// What it is, as in "a replica".
	What string
}

// Error implements error.
func (e *NotIndependentError) Error() string {
	return fmt.Sprintf("redlock engine: %s is %s: name independent masters", e.Server, e.What)
}

// member is one server, which must have been met before it votes.
type member struct {
	*redis.Engine
	name string
	set  *membership
	met  atomic.Bool
	none atomic.Bool // it belongs to no list yet, or not any more
}

// membership is the servers that have been met.
type membership struct {
	life context.Context
	end  context.CancelFunc // of all meetings

	list list

	mu sync.Mutex
	by map[string]*member // run id
}

// Take implements driver.Engine.
func (m *member) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := m.join(ctx); err != nil {
		return driver.Grant{}, err
	}
	g, err := m.Engine.Take(ctx, r)
	if err = m.vote(ctx, err); err != nil {
		return driver.Grant{}, err
	}
	return g, nil
}

// Raise implements driver.Raiser.
func (m *member) Raise(ctx context.Context, r driver.Raise) error {
	return m.vote(ctx, m.Engine.Raise(ctx, r))
}

// Opens says when the server votes again, or the zero time if it does, and fails if it must not vote at all.
func (m *member) Opens(ctx context.Context) (time.Time, error) {
	if err := m.meet(ctx); err != nil {
		return time.Time{}, err
	}
	if err := m.set.list.refusal(m.name); err != nil {
		return time.Time{}, err
	}
	return m.Engine.Opens(ctx)
}

// vote is the outcome of a request by which the server may have voted. One that grants nothing yet says yes nevertheless to an owner that has the
// key. That may be one which the server had released, and granted to another, before it was restarted with what it knew some time before.
func (m *member) vote(ctx context.Context, answer error) error {
	if answer != nil {
		return answer
	}
	opens, err := m.Engine.Opens(ctx)
	if err == nil && !opens.IsZero() {
		err = &redis.ClosedError{Open: opens}
	}
	return err
}

// meet finds out whether the server is one that may vote, unless that is known.
func (m *member) meet(ctx context.Context) error {
	if m.met.Load() {
		return nil
	}
	s, err := m.Server(ctx)
	switch {
	case err != nil:
		return err
	case s.Replica:
		return driver.Permanent(&NotIndependentError{m.name, "a replica"})
	case s.Cluster:
		return driver.Permanent(&NotIndependentError{m.name, "part of a Cluster"})
	}
	m.set.mu.Lock()
	defer m.set.mu.Unlock()
	if m.set.by == nil {
		m.set.by = map[string]*member{}
	}
	if other := m.set.by[s.RunID]; other != nil && other != m {
		return driver.Permanent(&SameServerError{other.name, m.name})
	}
	m.set.by[s.RunID] = m
	if s.List != "" {
		_ = m.may(s.List) // noted; who asks for something is told
	}
	m.met.Store(true)
	return nil
}

// may is why a server with a word in its marker grants and renews nothing for this program, and nil if it does.
func (m *member) may(word string) error {
	m.none.Store(word == noList)
	return m.set.list.refused(m.name, word)
}

// ready reports whether the server can be asked.
func (m *member) ready() bool { return m.met.Load() && !m.none.Load() }

// join meets the server, and puts it into the list of the others if it belongs to none.
func (m *member) join(ctx context.Context) error {
	if err := m.meet(ctx); err != nil || !m.none.Load() {
		return err
	}
	word, err := m.set.list.wants()
	if err != nil {
		return err
	}
	now, err := m.Enlist(ctx, noList, word, false)
	if err != nil {
		return err
	}
	return m.may(now)
}

// meetAll meets the servers, and fails if one of them must not vote. It waits for all of them until ctx ends; but when a majority has been met, for no longer than grace, as
// one that is silent then would only cost time: it is met before it votes.
func (s *membership) meetAll(ctx context.Context, members []*member, grace time.Duration) error {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	answers := make(chan error, len(members))
	for _, m := range members {
		go func() { answers <- m.meet(ctx) }()
	}
	var refused []error
	met := 0
	for range members {
		err := <-answers
		_, same := errors.AsType[*SameServerError](err)
		_, other := errors.AsType[*NotIndependentError](err)
		if same || other {
			refused = append(refused, err)
		}
		if err == nil {
			if met++; met == len(members)/2+1 {
				defer time.AfterFunc(grace, enough).Stop()
			}
		}
	}
	if other := s.list.outside(); other != nil && len(refused) == 0 {
		refused = append(refused, other)
	}
	return errors.Join(refused...)
}
