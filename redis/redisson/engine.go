package redisson

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
	"github.com/leasehold-go/leasehold/redis/internal/redisurl"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
	"github.com/leasehold-go/leasehold/redis/internal/subscriptions"
	"github.com/leasehold-go/leasehold/redis/internal/unsent"
)

// Engine keeps locks as Redisson does. It is safe for concurrent use by many goroutines.
type Engine struct {
	driver.Unsupported
	config
	client redis.UniversalClient
	lockAs protocol

	publishWith atomic.Pointer[string] // PUBLISH or SPUBLISH, once it is known
	connections *subscriptions.Connections
	channels    channels
	answered    atomic.Bool   // a server has answered once
	unsent      unsent.Owners // owners for whom nothing was sent yet, as no server has answered
	workers     detach.Pool   // for calls of the client that their callers may leave
	background  background
	settled     settled
	repeats     atomic.Int64 // see maxRepeats

	opened *redisurl.Client // what Open has opened, else nil
}

var (
	_ driver.Engine   = (*Engine)(nil)
	_ driver.Operator = (*Engine)(nil)
	_ driver.Latcher  = (*Engine)(nil)
)

// errNoClient is returned by New without a client.
var errNoClient = errors.New("redisson engine: the client is nil: " +
	"make one with redis.NewClient, NewFailoverClient or NewClusterClient of go-redis")

var errClosed = driver.Permanent(errors.New("the redisson engine has been closed: open another one"))

// replies explains what servers reply to this engine.
var replies = reply.Engine{Name: "redisson", Page: "docs/redisson.md", Unexpected: errReply}

// New returns an engine on a go-redis client for a single server, for servers that Sentinels watch, or for a
// Cluster. The caller owns the client, and closes it after the engine. New sends nothing.
//
// An invalid option is an *OptionError.
func New(client redis.UniversalClient, opts ...Option) (*Engine, error) {
	if client == nil {
		return nil, errNoClient
	}
	e := &Engine{client: client}
	e.javaWatchdog = DefaultJavaWatchdogTimeout
	switch client.(type) {
	case *redis.Client:
	case *redis.ClusterClient:
		e.isCluster = true
	default:
		return nil, fmt.Errorf("redisson engine: the client is a %T: make it with NewClient, NewFailoverClient or "+
			"NewClusterClient of go-redis", client)
	}
	for _, opt := range opts {
		if err := opt(&e.config); err != nil {
			return nil, err
		}
	}
	switch e.lock {
	case ReadWrite:
		e.lockAs = readWriteLock{}
	case Fair:
		e.lockAs = fairLock{}
	default:
		e.lockAs = exclusiveLock{tokens: e.lock == Fenced}
	}
	e.connections = subscriptions.New(client, errClosed, e.channels.onMessage)
	return e, nil
}

// Close ends the engine's subscriptions. It releases no lock: what is held is free when its ttl has passed. If
// something may have been taken for a caller that did not wait for the answer, it waits up to a second until that is
// given back.
// Later requests fail. Close may be called more than once.
func (e *Engine) Close() error {
	e.connections.Close()
	e.background.Go(e.deleteSettled)
	e.background.Close()
	e.workers.Close()
	if e.opened != nil {
		return e.opened.Close()
	}
	return nil
}

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	a := driver.Abilities{Name: "redisson", Semaphores: true, Walk: true}
	switch e.lock {
	case ReadWrite:
		a.Shared, a.MaxTTL = true, e.javaWatchdog
	case Fair:
		a.Fair, a.Waiters, a.Semaphores = true, true, false // Redisson's semaphores know no order
	}
	return a
}

// Format implements [fmt.Formatter]. Every verb prints the same text, and none of the engine's fields.
func (e *Engine) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "redisson engine") }

// errReply says that a reply is none that the script gives.
var errReply = errors.New("redisson: the server's answer is none that the script gives: " +
	"look for a proxy between the server and this program")

// object returns the protocol and the name of a key.
func (e *Engine) object(k driver.Key) (protocol, string, error) {
	if e.connections.IsClosed() {
		return nil, "", errClosed
	}
	name, err := e.name(k)
	switch {
	case err != nil:
		return nil, "", err
	case k.Kind == driver.Lock:
		return e.lockAs, name, nil
	case k.Kind == driver.Semaphore && e.lock != Fair:
		return permitSemaphore{}, name, nil
	}
	return nil, "", driver.ErrUnsupported
}

// run sends a call and returns the answer. It returns when ctx ends.
func (e *Engine) run(ctx context.Context, build func(publish string) call) (any, error) {
	return detach.Do(ctx, &e.workers, func(ctx context.Context) (any, error) { return e.send(ctx, build) }, nil)
}

// send sends a call and returns the answer.
func (e *Engine) send(ctx context.Context, build func(publish string) call) (any, error) {
	publish, err := e.publishCommand(ctx)
	if err != nil {
		return nil, reply.NoEffect(err)
	}
	answer, err := build(publish).run(ctx, e.client)
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, explain(err)
	}
	return answer, nil
}

// explain turns an error of the client into one that the contract of engines asks for.
func explain(err error) error {
	if answer, replied := errors.AsType[redis.Error](err); replied {
		switch {
		case redis.HasErrorPrefix(answer, "EXHAUSTED"):
			return errTokensUsedUp
		case redis.HasErrorPrefix(answer, "SEVERAL"):
			return errSeveralPermits
		}
	}
	return replies.Explain(err)
}

// refusedInMiddle returns the server's reply if the user has no right to a command of a script: those before it stay in
// effect.
func refusedInMiddle(err error) error {
	answer, replied := errors.AsType[redis.Error](err)
	if !replied || redis.HasErrorPrefix(answer, "NOPERM") ||
		!reply.IsDenial(strings.TrimPrefix(answer.Error(), "ERR ")) {
		return nil
	}
	return answer
}

var errTokensUsedUp = driver.Permanent(errors.New("redisson: the name has used up all tokens below 2^53: " +
	"delete its token key once nobody compares its tokens with old ones"))

// Take implements [driver.Engine].
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	p, name, err := e.object(r.Key)
	switch {
	case err != nil:
	case r.Owner == "":
		err = errOwner
	default:
		err = checkWeight(r)
	}
	if err != nil {
		return driver.Grant{}, err
	}
	if err := e.awaitServer(ctx, name, r.Owner); err != nil {
		return driver.Grant{}, err
	}
	g, _, err := e.takeInTime(ctx, p, name, r)
	return g, err
}

// takeInTime is take that returns when ctx ends. What it is granted after that is released, for which Close waits.
func (e *Engine) takeInTime(
	ctx context.Context, p protocol, name string, r driver.Request,
) (driver.Grant, time.Duration, error) {
	type answer struct {
		grant    driver.Grant
		again    time.Duration
		returned bool // the caller has not left
	}
	settled := make(chan struct{})
	a, err := detach.Do(ctx, &e.workers, func(ctx context.Context) (a answer, err error) {
		a.returned = true
		a.grant, a.again, err = e.take(ctx, p, name, r)
		return a, err
	}, func(_ answer, err error) {
		defer close(settled)
		e.releaseLate(p, name, r, err)
	})
	if !a.returned && !driver.HadNoEffect(err) {
		e.background.Go(func(life context.Context) {
			select {
			case <-settled:
			case <-life.Done():
			}
		})
	}
	return a.grant, a.again, err
}

// take asks once. If it is refused, again is how long to wait at most before asking again; negative if the holder's
// lease never ends.
func (e *Engine) take(
	ctx context.Context, p protocol, name string, r driver.Request,
) (_ driver.Grant, again time.Duration, _ error) {
	answer, unconfirmed, err := e.sendConfirmed(ctx,
		func(publish string) call { return p.take(name, r, r.Join, publish) })
	if refusal := refusedInMiddle(err); refusal != nil {
		return driver.Grant{}, 0, e.undoTake(ctx, p, name, r, refusal)
	}
	if err != nil {
		return driver.Grant{}, 0, err
	}
	list, err := replies.Integers(answer, 2)
	switch {
	case err != nil:
		return driver.Grant{}, 0, err
	case list[0] == 0:
		left := luascript.Duration(list[1])
		again = left
		if len(list) > 2 {
			again = luascript.Duration(list[2])
		}
		return driver.Grant{}, again, &driver.HeldError{Left: left}
	case list[0] == 2:
		return driver.Grant{}, 0, driver.ErrTooManyWaiters
	case unconfirmed != nil:
		return driver.Grant{}, 0, e.undoTake(ctx, p, name, r, unconfirmed)
	}
	g, err := newGrant(list[1], r)
	return g, 0, err
}

// newGrant makes a grant of its last token; 0 stands for none.
func newGrant(last int64, r driver.Request) (driver.Grant, error) {
	tokens := int64(max(r.Tokens, 1))
	if last == 0 { // Plain
		last = time.Now().UnixMicro() + tokens - 1
	}
	first := last - tokens + 1
	if first <= 0 || last > driver.MaxToken {
		return driver.Grant{}, errReply
	}
	return driver.Grant{Token: uint64(first), Tokens: int(tokens)}, nil
}

// leftTakeTimeout limits the release of a lock that was granted after its caller had left.
const leftTakeTimeout = 5 * time.Second

// releaseLate releases what was granted to a take whose caller had left, or its place. err is the error of the take.
func (e *Engine) releaseLate(p protocol, name string, r driver.Request, err error) {
	if joined := r.Join && errors.Is(err, driver.ErrHeld); driver.HadNoEffect(err) && !joined {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leftTakeTimeout)
	defer cancel()
	_ = e.release(ctx, p, name, driver.Release{
		Hold:  driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode},
		Place: r.Place,
	})
}

// Release implements [driver.Engine].
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	p, name, err := e.object(r.Key)
	if err != nil {
		return err
	}
	if e.unsent.Withdraw(r.Owner) {
		return driver.ErrNotHeld
	}
	return e.release(ctx, p, name, r)
}

func (e *Engine) release(ctx context.Context, p protocol, name string, r driver.Release) error {
	return replies.Held(e.run(ctx, func(publish string) call { return p.release(name, r, publish) }))
}

// Downgrade implements [driver.Engine].
func (e *Engine) Downgrade(ctx context.Context, h driver.Hold) error {
	if !e.Abilities().Shared {
		return driver.ErrUnsupported
	}
	p, name, err := e.object(h.Key)
	if err != nil {
		return err
	}
	return replies.Held(e.run(ctx, func(publish string) call { return p.downgrade(name, h, publish) }))
}

// ForceRelease implements [driver.Operator]. Token 0 stands for a holder without a token, such as a program in Java.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	if err := ctx.Err(); err != nil {
		return driver.NoEffect(err)
	}
	p, name, err := e.object(k)
	if err != nil {
		return err
	}
	var owners []string
	if token == 0 { // one who takes it later may have no token, either
		status, err := e.run(ctx, func(string) call { return p.status(name) })
		if err != nil {
			return reply.NoEffect(err)
		}
		if owners = p.ownersWithoutToken(status); owners != nil && len(owners) == 0 {
			return driver.ErrNotHeld
		}
	}
	return replies.Held(e.run(ctx, func(publish string) call { return p.force(name, token, owners, publish) }))
}

// LockType returns the type of the engine's locks, as [WithLock] has set it.
func (e *Engine) LockType() LockType { return e.lock }
