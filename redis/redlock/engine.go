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
	members []*member
	set     *membership
}

var (
	_ driver.Engine = (*Engine)(nil)
	_ driver.Forcer = (*Engine)(nil)
	_ driver.Voter  = (*Engine)(nil)
	_ driver.Wanter = (*Engine)(nil)
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

// New returns an engine on some servers, with one client of go-redis for each: what NewClient returns, or its AutoPipeline. The clients stay the
// caller's, who closes them after the engine. All programs that share locks must name the same servers by the same addresses. The
// order does not matter, except of clients that do not show their address, as an AutoPipeline: who waits may otherwise do so on another
// server than the others, and wait longer.
//
// New asks the servers what they are, until ctx ends but for no longer than the node timeout; and for no longer than a fifth of that when a majority has
// answered. It refuses a replica, a node of a Cluster, a server that is there twice, and one of another list (an [*OtherListError]). A server that has not answered by then is asked again before it
// votes for the first time, and is refused there.
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
		name, named, err := nameOf(client, i)
		c.nameless = c.nameless || !named
		if err == nil && slices.Contains(names, name) {
			err = &SameServerError{name, name}
		}
		if err != nil {
			return nil, errors.Join(err, closeAll(engines))
		}
		e, err := redis.New(client, c.nodes...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("redlock engine: server %d: %w", i+1, err), closeAll(engines))
		}
		engines, names = append(engines, e), append(names, name)
	}
	return over(ctx, engines, names, c)
}

// graceful is which part of the node timeout servers have to say what they are when a majority has said it.
const graceful = 5

// over makes an engine over others, which it closes, and asks the servers what they are.
func over(ctx context.Context, engines []*redis.Engine, names []string, c config) (*Engine, error) {
	e := unmet(engines, names, c)
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := e.set.meetAll(ctx, e.members, c.timeout/graceful); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// unmet makes an engine whose servers are asked what they are before each of them votes for the first time.
func unmet(engines []*redis.Engine, names []string, c config) *Engine {
	e := &Engine{}
	set := &membership{list: list{size: len(names)}}
	if !c.nameless {
		set.list.own = wordOf(names)
	}
	set.life, set.end = context.WithCancel(context.Background())
	e.set = set
	var nodes []quorum.Node
	for i, each := range engines {
		m := &member{Engine: each, name: names[i], set: set}
		each.Among(m.may)
		e.members = append(e.members, m)
		nodes = append(nodes, m)
	}
	e.Engine = quorum.New(quorum.Config{
		Name: "redlock", Nodes: nodes, Names: names, Timeout: c.timeout, Least: c.least,
		MaxTTL: engines[0].Abilities().MaxTTL, Closed: closed,
	})
	return e
}

// closed reports whether a server grants nothing yet, as it has just been started.
func closed(err error) (until time.Time, ok bool) {
	refused, ok := errors.AsType[*redis.ClosedError](err)
	if ok {
		until = refused.Open
	}
	return until, ok
}

// nameOf is what a server is called in errors, and by which the arbiter of a name is chosen; and whether that is its address.
func nameOf(client goredis.UniversalClient, i int) (name string, named bool, err error) {
	switch c := client.(type) {
	case nil:
		return "", false, fmt.Errorf("redlock engine: server %d: the client is nil: make one with redis.NewClient of go-redis", i+1)
	case *goredis.ClusterClient, *goredis.Ring:
		return "", false, fmt.Errorf("redlock engine: server %d: a %T stands for several servers: give one client for each server", i+1, client)
	case *goredis.Client:
		return c.Options().Addr, true, nil
	}
	return fmt.Sprintf("server %d", i+1), false, nil
}

// Close ends what goes on in the background. It touches no lock: what is held is free when its ttl has passed. Requests after it fail.
// It may be called again.
func (e *Engine) Close() error {
	e.set.end()
	e.Engine.Close()
	var errs []error
	for _, m := range e.members {
		errs = append(errs, m.Close())
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
