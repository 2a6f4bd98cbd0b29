package leasehold

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/argument"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// Election is a mutex whose holder, the leader, has an ID. It shares its name with a Mutex.
type Election struct{ lock *lock }

// Leader is the current leader of an election.
type Leader struct {
	// ID is what the leader passed to Campaign.
	ID string
	// Token is the leader's fencing token: a later leader has a larger one.
	Token uint64
}

// Election returns the election with that name. A name or option that is not allowed is reported by the first call that
// uses the election.
func (c *Client) Election(name string, opts ...Option) *Election {
	return &Election{newLock(c, driver.Lock, name, 1, opts)}
}

// Campaign waits until the caller is the leader. Others see it as id: 1 to 1024 bytes of valid UTF-8 without NUL. The
// caller leads until the lease ends: Release resigns, and the context of the lease is cancelled when the leadership is
// lost. Errors are those of Mutex.Lock.
func (e *Election) Campaign(ctx context.Context, id string) (*Lease, error) {
	if e.lock.err == nil && !argument.IsText(id) {
		return nil, newValueError("leader's id", id, argument.AllowedText)
	}
	candidate := *e.lock
	candidate.holder, candidate.hasOwnHolderText = id, true
	return candidate.acquire(ctx, &acquisition{op: "campaign for"})
}

// Leader returns the current leader. It returns ErrNoLeader if there is none, and otherwise ErrUnavailable, ErrInvalid,
// ErrClosed or an error of ctx.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	const op = "find the leader of"
	l := e.lock
	if l.err != nil {
		return Leader{}, l.err
	}
	if err := l.callError(ctx, op, nil); err != nil {
		return Leader{}, err
	}
	list := func(ctx context.Context) ([]driver.Status, error) {
		return l.client.engine.List(ctx, driver.Query{Kind: l.key.Kind, Name: l.key.Name})
	}
	all, err := timelimit.Send(ctx, &l.client.requests, l.client.requests.Timeout, list)
	if err != nil {
		if callErr := l.callError(ctx, op, nil); callErr != nil {
			return Leader{}, callErr
		}
		sentinel, cause := fromEngine(err)
		return Leader{}, l.newError(op, sentinel, cause)
	}
	for _, s := range all {
		for _, h := range s.Holders {
			if h.Mode == driver.Exclusive {
				return Leader{ID: h.Holder, Token: h.Token}, nil
			}
		}
	}
	return Leader{}, l.newError(op, ErrNoLeader, nil)
}

// Observe yields the leader now and after each change, until ctx ends, the caller stops, or the client is closed. While
// there is no leader it yields the zero Leader. It polls once a second, or more often if the ttl is short, so it may
// miss a leader that led for less. An error is yielded too, and Observe goes on, unless the election itself is invalid.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		if e.lock.err != nil {
			yield(Leader{}, e.lock.err)
			return
		}
		tick := time.NewTicker(min(time.Second, e.lock.ttl/3+1))
		defer tick.Stop()
		var last Leader
		for first := true; ; first = false {
			now, err := e.Leader(ctx)
			switch {
			case errors.Is(err, ErrNoLeader):
				err = nil
			case err != nil && ctx.Err() != nil, errors.Is(err, ErrClosed): // it will not pass
				return
			}
			if (err != nil || first || now != last) && !yield(now, err) {
				return
			}
			if err == nil {
				last = now
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			case <-e.lock.client.lifetime.Done():
				return
			}
		}
	}
}
