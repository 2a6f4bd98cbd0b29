package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/contended"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/internal/keyset"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/redis/internal/interrupt"
	"github.com/leasehold-go/leasehold/redis/internal/redisurl"
	"github.com/leasehold-go/leasehold/redis/internal/subscriptions"
	"github.com/leasehold-go/leasehold/redis/internal/unsent"
)

// Engine keeps locks in Redis. It is safe for concurrent use by many goroutines.
type Engine struct {
	unsupported
	config
	client    redis.UniversalClient
	asyncPipe *redis.AutoPipeliner // the client's deferred API, if it is an AutoPipeliner
	// observesDeadlines says that the client is configured to give up a request at the deadline of its context.
	observesDeadlines bool
	interrupter       *interrupt.Interrupter // of the client; nil if its requests cannot be interrupted
	router            router                 // finds servers to lock on
	readRouter        router                 // finds servers to read from
	process           string                 // names this engine in channels
	subscriptions     *subscriptions.Connections

	workers detach.Pool   // for calls of the client that their callers may leave
	unsent  unsent.Owners // owners for whom nothing was sent yet, as no server is known
	alone   atomic.Int32  // requests in flight that were not given to the batcher
	batcher batcher
	// pipeliner sends to a single server what is not for the batcher.
	pipeliner pipeliner
	waiters   waiters
	recalls   recalls
	// Names that this process holds, and for which others waited on the server when they were granted. Their release
	// must hand over, and they are not handed over inside the process. A hint: a name that is missing costs a request.
	wantedByOthers keyset.Set[driver.Key]
	// Names that this process found held, or closed to grants, at most 2 s ago. A take of them joins the queue at once.
	contended contended.Names[driver.Key]
	// Spent owners, only with WithReplicas: they waited on the server, and may have been granted what too few replicas
	// confirmed. Their release keeps the head of the queue for the next owner of the same call. Removed when the core
	// releases them.
	spentAtHead keyset.Set[string]
	// Releases what was passed to a waiter that has given up; nil unless the engine is a node of redlock.
	releaseLeft func(k driver.Key, owner string)

	opened *redisurl.Client // by Open; nil after New
}

// unsupported answers calls of what this engine cannot do.
type unsupported = driver.Unsupported

var (
	_ driver.Engine      = (*Engine)(nil)
	_ driver.Operator    = (*Engine)(nil)
	_ driver.AllTaker    = (*Engine)(nil)
	_ driver.Exchanger   = (*Engine)(nil)
	_ quorumnode.Node    = (*Engine)(nil)
	_ driver.Router      = (*Engine)(nil)
	_ driver.Wanter      = (*Engine)(nil)
	_ driver.Latcher     = (*Engine)(nil)
	_ driver.DataKeeper  = (*Engine)(nil)
	_ quorumnode.Starter = (*Engine)(nil)
	_ quorumnode.Passer  = (*Engine)(nil)
)

// New returns an engine on a go-redis client for a single server, for servers that Sentinels watch, or for a Cluster,
// plain or as an AutoPipeliner. The caller owns the client, and closes it after the engine. New sends nothing.
//
// A Cluster client that reads from replicas (ReadOnly) also subscribes there, and the masters do not count those
// subscribers. Waiters then poll, as with [WithPolling]. An AutoPipeliner does not show what kind of client it has. If
// it wraps such a client, use [WithPolling], or waiters are granted their locks up to ten seconds late.
//
// The engine needs none of the client's timeouts, but they help: a request that was given up keeps its connection until
// the client gives it up, too. If a client for a single server has ContextTimeoutEnabled, and no connections yet, New
// adds a hook to it, with which a request ends when its context is cancelled. Then no call needs its own goroutine, and
// other hooks must return when their context ends.
//
// An invalid option is an *OptionError.
func New(client redis.UniversalClient, opts ...Option) (*Engine, error) {
	if client == nil {
		return nil, errNoClient
	}
	if _, ring := client.(*redis.Ring); ring {
		return nil, fmt.Errorf("redis engine: a Ring moves names to other servers when one fails, " +
			"and their locks are then free: use a Cluster, or one client for each server")
	}
	c := config{prefix: DefaultPrefix, maxTTL: DefaultMaxTTL, guard: true, retention: DefaultTokenRetention}
	for _, opt := range opts {
		if err := opt(&c); err != nil {
			return nil, err
		}
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	e := &Engine{config: c, client: client, observesDeadlines: observesDeadlines(client)}
	if nodes, cluster := client.(*redis.ClusterClient); cluster {
		e.workers.Grace = leaveAfter
		e.polling = e.polling || nodes.Options().ReadOnly // see above
	}
	if single, ok := client.(*redis.Client); ok {
		e.interrupter = interrupt.Of(single)
	}
	if together, ok := client.(*redis.AutoPipeliner); ok {
		// Waiting for the deferred API can end with a context.
		pipe, err := together, error(nil)
		if together.IsBlocking() {
			pipe, err = together.AsyncAutoPipeline()
		}
		if err != nil {
			return nil, fmt.Errorf("redis engine: %w", err)
		}
		e.asyncPipe = pipe
	}
	e.batcher.init(e)
	e.pipeliner.init(e)
	e.router.init(client, &e.config)
	e.initReadRouter()
	e.process = hex.EncodeToString(id[:])
	e.subscriptions = subscriptions.New(client, errEngineClosed, func(_, message string) { e.onMessage(message) })
	e.waiters.init(e.forgetWaiter)
	return e, nil
}

// Close ends the engine's subscriptions. It releases no lock: what is held is free when its ttl has passed. Later
// requests fail. Close may be called more than once.
func (e *Engine) Close() error {
	e.subscriptions.Close()
	e.batcher.Close()
	e.pipeliner.Close()
	e.workers.Close()
	if e.opened != nil {
		return e.opened.Close()
	}
	return nil
}

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	return driver.Abilities{
		Name:       "redis",
		Shared:     true,
		Semaphores: true,
		Waiters:    true,
		Recalls:    e.replicas == 0 && !e.polling,
		Walk:       true,
		Fair:       true,
		MaxTTL:     e.maxTTL,
	}
}

// observesDeadlines reports whether a client is configured to give up a request at the deadline of its context.
func observesDeadlines(client redis.UniversalClient) bool {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	}
	return false
}

// Downgrade implements [driver.Engine].
func (e *Engine) Downgrade(ctx context.Context, h driver.Hold) error {
	if err := checkOwner(h.Owner); err != nil {
		return err
	}
	n := e.names(h.Key)
	answer, err := e.run(ctx, scriptDowngrade, n, h.Owner, floorArg())
	err = e.readReleased(ctx, n, answer, err)
	if err == nil || driver.IsNo(err) { // a shared holder is not idle
		e.removeRecallable(n.value, h.Owner)
	}
	return err
}

// Raise implements [quorumnode.Node]. Only redlock calls it.
func (e *Engine) Raise(ctx context.Context, r quorumnode.Raise) error {
	if err := checkOwner(r.Owner); err != nil {
		return err
	}
	n := e.names(r.Key)
	first, last := strconv.FormatUint(r.Token, 10), strconv.FormatUint(r.Token+uint64(r.Tokens)-1, 10)
	call := newScriptCall(n.valueAndToken(), r.Owner, first, last, r.Tokens)
	return replies.Held(inTime(ctx, e, func(ctx context.Context) (any, error) {
		answer, _, err := e.runScript(ctx, e.sendWithReplicas, scriptRaise, n, call)
		return answer, err
	}, nil))
}

// Wanted implements [driver.Wanter]. It reports whether a caller of this process waits, or others waited when this
// process was granted the name.
func (e *Engine) Wanted(k driver.Key) bool {
	return e.wantedByOthers.Has(k) || e.waiters.hasKey(k)
}
