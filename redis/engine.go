package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/keyset"
	"github.com/leasehold-go/leasehold/redis/internal/crowd"
)

// Engine keeps locks in Redis. It is safe for concurrent use by many goroutines.
type Engine struct {
	config
	client redis.UniversalClient
	pipe   *redis.AutoPipeliner // the deferred face of the client, if it puts the commands of many goroutines together
	place  place                // of those who lock
	sights place                // of those who look
	ears   ears

	couriers couriers
	waiters  waiters
	wanted   keyset.Set[driver.Key] // the names that are held by this process and for which others waited when they were granted
	crowded  crowd.Crowd            // names that this process found held
	turns    keyset.Set[string]     // spent owners whose turn it was, until the core releases them: the next owner of the same call has the turn

	shut func() error // closes what Open has opened
	far  *far         // how Open reaches other servers; nil for engines of New
}

var (
	_ driver.Engine     = (*Engine)(nil)
	_ driver.Downgrader = (*Engine)(nil)
	_ driver.Forcer     = (*Engine)(nil)
	_ driver.AllTaker   = (*Engine)(nil)
	_ driver.Raiser     = (*Engine)(nil)
	_ driver.Wanter     = (*Engine)(nil)
	_ driver.Latcher    = (*Engine)(nil)
	_ driver.Starter    = (*Engine)(nil)
	_ driver.Walker     = (*Engine)(nil)
	_ driver.Sweeper    = (*Engine)(nil)
	_ driver.Recorder   = (*Engine)(nil)
)

// New returns an engine on a client of go-redis: one for a single server, for servers that Sentinels watch, or for a
// Cluster, plain or as an AutoPipeliner. The client stays the caller's, who closes it after the engine. Nothing is
// sent yet.
//
// A client of a Cluster that reads from replicas (ReadOnly) also listens to them, where nobody counts it among those who hear. Waiters then
// ask again and again, as with [WithPolling]. An AutoPipeliner does not show what kind of client it has: for one over such a client, give
// [WithPolling], or waiters have their turn up to ten seconds late.
//
// The engine needs none of the client's timeouts, but they help: a request that has been given up holds its
// connection until the client gives up, too.
//
// Bad options are an *OptionError.
func New(client redis.UniversalClient, opts ...Option) (*Engine, error) {
	if client == nil {
		return nil, errNoClient
	}
	if _, ring := client.(*redis.Ring); ring {
		return nil, fmt.Errorf("redis engine: a Ring moves names to other servers when one fails, and their locks are then free: use a Cluster, or one client for each server")
	}
	c := config{prefix: DefaultPrefix, maxTTL: DefaultMaxTTL, guard: true, retention: DefaultTokenRetention}
	for _, opt := range opts {
		if err := opt(&c); err != nil {
			return nil, err
		}
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	e := &Engine{config: c, client: client}
	if together, ok := client.(*redis.AutoPipeliner); ok {
		// The deferred face can be waited for until a context ends.
		pipe, err := together, error(nil)
		if together.IsBlocking() {
			pipe, err = together.AsyncAutoPipeline()
		}
		if err != nil {
			return nil, fmt.Errorf("redis engine: %w", err)
		}
		e.pipe = pipe
	}
	if nodes, ok := client.(*redis.ClusterClient); ok && nodes.Options().ReadOnly {
		// Such a client listens to replicas, and the masters do not count it among those who hear their messages.
		e.polling = true
	}
	e.couriers.engine = e
	e.place.init(client, &e.config)
	e.initLooking()
	e.ears.init(client, hex.EncodeToString(id[:]), e.heard)
	e.waiters.init(e.ears.leave)
	return e, nil
}

// Close ends the engine's subscriptions. It touches no lock: what is held is free when its ttl has
// passed. Requests after it fail. It may be called again.
func (e *Engine) Close() error {
	e.ears.close()
	e.couriers.close()
	if e.shut != nil {
		return e.shut()
	}
	return nil
}

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	return driver.Abilities{
		Name:       "redis",
		Shared:     true,
		Semaphores: true,
		Latches:    true,
		Force:      true,
		All:        true,
		Examine:    true,
		Raise:      true,
		Waiters:    true,
		Walk:       true,
		Leaks:      true,
		Records:    true,
		Fair:       true,
		Prompt:     e.pipe != nil && e.replicas == 0,
		Bounded:    heedsDeadlines(e.client),
		Starts:     e.alone(),
		MaxTTL:     e.maxTTL,
	}
}

// alone reports whether the client is one for a single server, or for those of which Sentinels say which one it is. Takes then go together.
func (e *Engine) alone() bool {
	_, single := e.client.(*redis.Client)
	return single && e.replicas == 0
}

// heedsDeadlines reports whether a client is set up to give up a request at the deadline of its context.
func heedsDeadlines(client redis.UniversalClient) bool {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	}
	return false
}

// millis is a duration as the scripts want it: never shorter than it is.
func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// micros is the client's clock, as tokens count it. A clock that was never set may stand before their beginning.
func micros() int64 { return max(time.Now().UnixMicro(), 1) }

// public makes a text fit for the scripts, which end texts at a NUL.
func public(text string) string { return strings.ReplaceAll(text, "\x00", "") }

// yes reads the answer of a script that says 1 or 0.
func yes(answer any, err error) error {
	switch {
	case err != nil:
		return err
	case answer == int64(1):
		return nil
	case answer == int64(0):
		return driver.ErrNotHeld
	}
	return errReply
}

// Release implements [driver.Engine].
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	if err := checkOwner(r.Owner); err != nil {
		return err
	}
	if wanted := e.leave(r); !wanted && isPlain(r) && !e.turns.Has(r.Owner) {
		if done, err := e.releaseFree(ctx, r.Owner, e.names(r.Key)); done || err != nil {
			return err
		}
	}
	return e.releaseHeld(ctx, r)
}

// leave forgets what this process knows of an owner that goes, and reports whether others wait for the name.
func (e *Engine) leave(r driver.Release) (wanted bool) {
	e.waiters.forget(r.Owner)
	return e.wanted.Remove(r.Key)
}

// isPlain reports whether a release is one that releaseFree can see to, if nobody waits.
func isPlain(r driver.Release) bool {
	return r.Kind == driver.Lock && r.Mode == driver.Exclusive && r.Keep == 0
}

// releaseHeld releases whatever it is that is held.
func (e *Engine) releaseHeld(ctx context.Context, r driver.Release) error {
	turn := e.turns.Has(r.Owner)
	err := yes(e.run(ctx, release, e.names(r.Key), r.Owner, floor(), millis(r.Keep), placeOf(r.Place, r.Owner), flag(turn)))
	if turn && (err == nil || driver.IsNo(err)) {
		e.turns.Remove(r.Owner)
	}
	return err
}

// Downgrade implements [driver.Downgrader].
func (e *Engine) Downgrade(ctx context.Context, h driver.Hold) error {
	if err := checkOwner(h.Owner); err != nil {
		return err
	}
	return yes(e.run(ctx, downgrade, e.names(h.Key), h.Owner, floor()))
}

// Wanted implements [driver.Wanter]: whether this process waits, or others did when it was granted the name.
func (e *Engine) Wanted(k driver.Key) bool {
	return e.wanted.Has(k) || e.waiters.want(k)
}
