package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/internal/redisurl"
	"github.com/leasehold-go/leasehold/redis/internal/unsent"
)

// SameServerError says that one server is named twice: its vote would count twice.
type SameServerError struct{ First, Second string }

// Error implements error.
func (e *SameServerError) Error() string {
	return fmt.Sprintf("redlock engine: %s and %s are the same server: name independent servers", e.First, e.Second)
}

// NotIndependentError says that a server is of a sort that cannot vote.
type NotIndependentError struct {
	Server string
	// What the server is, as in "a replica".
	What string
}

// Error implements error.
func (e *NotIndependentError) Error() string {
	return fmt.Sprintf("redlock engine: %s is %s: name independent masters", e.Server, e.What)
}

// node is one server. It must be initialized, that is asked what it is, before it votes.
type node struct {
	*redis.Engine
	name        string
	set         *nodeSet
	initialized atomic.Bool
	unsent      unsent.Owners // takes that wait until the node is initialized
	hasNoList   atomic.Bool   // it belongs to no list yet, or not any more
}

// nodeSet is the servers of one engine.
type nodeSet struct {
	ctx    context.Context
	cancel context.CancelFunc // ends all initializations

	list nodeList

	mu      sync.Mutex
	byRunID map[string]*node // initialized ones
}

// Take implements driver.Engine.
func (n *node) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return n.TakeFrom(ctx, quorumnode.Request{Request: r})
}

// TakeFrom implements quorumnode.Node.
func (n *node) TakeFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	if err := n.beginTake(r.Owner)(ctx); err != nil {
		return driver.Grant{}, err
	}
	g, err := n.Engine.TakeFrom(ctx, r)
	if err = n.checkVote(ctx, err); err != nil {
		return driver.Grant{}, err
	}
	return g, nil
}

// Raise implements quorumnode.Node.
func (n *node) Raise(ctx context.Context, r quorumnode.Raise) error {
	return n.checkVote(ctx, n.Engine.Raise(ctx, r))
}

// Opens returns when the server votes again, or the zero time if it votes now. It fails if the server must not vote at
// all.
func (n *node) Opens(ctx context.Context) (time.Time, error) {
	if err := n.initNode(ctx); err != nil {
		return time.Time{}, err
	}
	if err := n.set.list.checkLastHash(n.name); err != nil {
		return time.Time{}, err
	}
	return n.Engine.Opens(ctx)
}

// checkVote turns a yes of a server without a vote into a ClosedError. A server that grants nothing yet still
// says yes to an owner that has the key. It may have released that owner and granted the name to another one
// before it was restarted with older data.
func (n *node) checkVote(ctx context.Context, answer error) error {
	if answer != nil {
		return answer
	}
	opens, err := n.Engine.Opens(ctx)
	if err == nil && !opens.IsZero() {
		err = &redis.ClosedError{Open: opens, Reason: "the server was restarted or promoted"}
	}
	return err
}

// initNode finds out whether the server may vote, unless that is known.
func (n *node) initNode(ctx context.Context) error {
	if n.initialized.Load() {
		return nil
	}
	s, err := n.Server(ctx)
	switch {
	case err != nil:
		return withOwnScheme(err)
	case s.Replica:
		return driver.Permanent(&NotIndependentError{n.name, "a replica"})
	case s.Cluster:
		return driver.Permanent(&NotIndependentError{n.name, "part of a Cluster"})
	}
	n.set.mu.Lock()
	defer n.set.mu.Unlock()
	if n.set.byRunID == nil {
		n.set.byRunID = map[string]*node{}
	}
	if other := n.set.byRunID[s.RunID]; other != nil && other != n {
		return driver.Permanent(&SameServerError{other.name, n.name})
	}
	n.set.byRunID[s.RunID] = n
	if s.List != "" {
		_ = n.checkList(s.List) // only to note the hash: requests get the error
	}
	n.initialized.Store(true)
	return nil
}

// checkList notes the list hash in the marker of the server. It returns why the server grants and renews nothing for
// this program, or nil.
func (n *node) checkList(hash string) error {
	n.hasNoList.Store(hash == noListHash)
	return n.set.list.checkHash(n.name, hash)
}

// isReady reports whether requests can be sent without asking the server first what it is.
func (n *node) isReady() bool { return n.initialized.Load() && !n.hasNoList.Load() }

// initAndJoinList initializes the server, and puts it into the list of the others if it belongs to none.
func (n *node) initAndJoinList(ctx context.Context) error {
	if err := n.initNode(ctx); err != nil || !n.hasNoList.Load() {
		return err
	}
	hash, err := n.set.list.hashForNew()
	if err != nil {
		return err
	}
	now, err := n.Enlist(ctx, noListHash, hash, false)
	if err != nil {
		return err
	}
	return n.checkList(now)
}

// initAll initializes the servers, and fails if one of them must not vote. It waits for all of them until ctx ends, but
// for no longer than grace once a majority is initialized: a silent server would only cost time, and is initialized
// before it votes.
func (s *nodeSet) initAll(ctx context.Context, nodes []*node, grace time.Duration) error {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	answers := make(chan error, len(nodes))
	for _, n := range nodes {
		go func() { answers <- n.initNode(ctx) }()
	}
	var refused []error
	initialized := 0
	for range nodes {
		err := <-answers
		_, same := errors.AsType[*SameServerError](err)
		_, other := errors.AsType[*NotIndependentError](err)
		if same || other {
			refused = append(refused, err)
		}
		if err == nil {
			if initialized++; initialized == len(nodes)/2+1 {
				defer time.AfterFunc(grace, enough).Stop()
			}
		}
	}
	if other := s.list.checkNoMajorityOutside(); other != nil && len(refused) == 0 {
		refused = append(refused, other)
	}
	return errors.Join(refused...)
}

// List implements driver.Engine.
func (n *node) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	page, err := n.Engine.List(ctx, q)
	return page, withOwnScheme(err)
}

// Walk implements driver.Operator.
func (n *node) Walk(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	return withOwnScheme(n.Engine.Walk(ctx, q, visit))
}

// withOwnScheme returns the error of a server that does not fit the URL, with the scheme of redlock instead of that of
// one server. It returns any other error as it is.
func withOwnScheme(err error) error {
	wrong, is := errors.AsType[*redisurl.MismatchError](err)
	if !is {
		return err
	}
	own := *wrong
	own.Scheme = "redlock"
	return driver.NoEffect(&own)
}
