package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock/internal/quorum"
)

// Engine keeps each lock on a majority of several servers. It is safe for concurrent use by many goroutines.
type Engine struct {
	*quorum.Engine
	nodes []*node
	set   *nodeSet
}

var (
	_ driver.Engine   = (*Engine)(nil)
	_ driver.Operator = (*Engine)(nil)
	_ driver.Wanter   = (*Engine)(nil)
)

// Error says how each server has voted on a take that has failed. errors.As finds it behind the errors of the library.
type Error = quorum.Error

// Vote is the vote of one server.
type Vote = quorum.Vote

// Answer is what a vote says.
type Answer = quorum.Answer

// The answers.
const (
	Granted   = quorum.Granted
	Held      = quorum.Held
	Closed    = quorum.Closed
	NoAnswer  = quorum.NoAnswer
	Failed    = quorum.Failed
	Undecided = quorum.Undecided
)

// New returns an engine on several servers. It takes one client of go-redis for each: what NewClient returns,
// or its AutoPipeline. The caller closes the clients, after the engine. All programs that share locks must
// name the same servers by the same addresses. The order matters only for clients that do not show their
// address, as an AutoPipeline: with another order, waiters may queue on another server than those of other
// programs, and wait longer.
//
// New asks the servers what they are, until ctx ends or the node timeout has passed; once a majority has answered, it
// waits for the others for a fifth of that at most. It refuses a replica, a node of a Cluster, a server that is named
// twice, and one of another node list (an [*OtherListError]). A server that has not answered by then is asked again
// before it votes for the first time, and is refused there.
//
// Bad options are an *[OptionError] or an *[redis.OptionError].
func New(ctx context.Context, clients []goredis.UniversalClient, opts ...Option) (*Engine, error) {
	c := config{timeout: DefaultNodeTimeout}
	for _, opt := range opts {
		if err := opt(&c); err != nil {
			return nil, err
		}
	}
	if len(clients) == 0 {
		return nil, errNoServers
	}
	var engines []*redis.Engine
	var names []string
	for i, client := range clients {
		name, named, err := serverName(client, i)
		c.nameless = c.nameless || !named
		if err == nil && slices.Contains(names, name) {
			err = &SameServerError{name, name}
		}
		if err != nil {
			return nil, errors.Join(err, closeAll(engines))
		}
		e, err := redis.New(client, c.nodeOptions...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("redlock engine: server %d: %w", i+1, err), closeAll(engines))
		}
		engines, names = append(engines, e), append(names, name)
	}
	return newEngine(ctx, engines, names, c)
}

// graceDivisor is the part of the node timeout for which New waits for the other servers once a majority has answered.
const graceDivisor = 5

// newEngine returns an engine over others, which it closes, and asks the servers what they are.
func newEngine(ctx context.Context, engines []*redis.Engine, names []string, c config) (*Engine, error) {
	e := newUninitialized(engines, names, c)
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := e.set.initAll(ctx, e.nodes, c.timeout/graceDivisor); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// newUninitialized returns an engine whose servers are asked what they are before each of them votes for the
// first time.
func newUninitialized(engines []*redis.Engine, names []string, c config) *Engine {
	e := &Engine{}
	set := &nodeSet{list: nodeList{size: len(names)}}
	if !c.nameless {
		set.list.ownHash = listHash(names)
	}
	set.ctx, set.cancel = context.WithCancel(context.Background())
	e.set = set
	var nodes []quorum.Node
	for i, each := range engines {
		n := &node{Engine: each, name: names[i], set: set}
		each.Among(n.checkList)
		e.nodes = append(e.nodes, n)
		nodes = append(nodes, n)
	}
	e.Engine = quorum.New(quorum.Config{
		Name: "redlock", Nodes: nodes, Names: names, Timeout: c.timeout, MinValidity: c.minValidity,
		MaxTTL: engines[0].Abilities().MaxTTL, Closed: closedUntil,
	})
	return e
}

// closedUntil reports whether an error means that the server has just been started and grants nothing yet, and until
// when.
func closedUntil(err error) (until time.Time, ok bool) {
	refused, ok := errors.AsType[*redis.ClosedError](err)
	if ok {
		until = refused.Open
	}
	return until, ok
}

// serverName is what a server is called in errors, and by which the arbiter of a name is chosen. named says that it is
// the address.
func serverName(client goredis.UniversalClient, i int) (name string, named bool, err error) {
	switch c := client.(type) {
	case nil:
		return "", false, fmt.Errorf(
			"redlock engine: server %d: the client is nil: make one with redis.NewClient of go-redis", i+1)
	case *goredis.ClusterClient, *goredis.Ring:
		return "", false, fmt.Errorf(
			"redlock engine: server %d: a %T stands for several servers: give one client for each server", i+1, client)
	case *goredis.Client:
		return c.Options().Addr, true, nil
	}
	return fmt.Sprintf("server %d", i+1), false, nil
}

// Close ends all background work. It touches no lock: what is held becomes free when its ttl has passed. Requests after
// it fail. It may be called again.
func (e *Engine) Close() error {
	e.set.cancel()
	e.Engine.Close()
	var errs []error
	for _, n := range e.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

func closeAll(engines []*redis.Engine) error {
	var errs []error
	for _, e := range engines {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}
