package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// Take implements [driver.Engine].
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return e.TakeFrom(ctx, quorumnode.Request{Request: r})
}

// TakeFrom implements [quorumnode.Node]. It is Take, with a floor for the token that only redlock sets.
func (e *Engine) TakeFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	if r.Kind != driver.Lock && r.Kind != driver.Semaphore {
		err := fmt.Errorf("a %s cannot be taken: ask for a lock or a semaphore", r.Kind)
		return driver.Grant{}, driver.Permanent(err)
	}
	if err := checkOwner(r.Owner); err != nil {
		return driver.Grant{}, err
	}
	n := e.names(r.Key)
	if err := e.awaitServer(ctx, n, r.Owner); err != nil {
		return driver.Grant{}, err
	}
	if r.Probe {
		return e.takeOrJoin(ctx, r, n, refusedNow)
	}
	if r.Join && e.contended.Has(r.Key) && e.canJoinAtOnce(n) {
		return e.takeOrJoin(ctx, r, n, assumedHeld)
	}
	// Hardly any lock is held when it is asked for, so do not subscribe before it is known to be.
	if !e.canTakeUncontended(r) {
		return e.takeOrJoin(ctx, r, n, undecided)
	}
	g, err := e.takeUncontended(ctx, r, n)
	if known := afterAnswer(r, err); known != decided {
		return e.takeOrJoin(ctx, r, n, known)
	}
	return g, err
}

// takeState is what is known of a take before takeOrJoin. What a take sends first:
//
//	the name is probably free                                take_free.lua (takeUncontended)
//	it was contended a short while ago, and the call may     take.lua, and joins (assumedHeld)
//	wait
//	take_free.lua cannot take it: a semaphore, a read lock,  take.lua, without joining (undecided)
//	with replicas, or others waited at the last grant
//
// What it does after an answer:
//
//	granted, or refused to a call that may not wait          nothing (decided)
//	take_free.lua cannot decide, or grants are closed        take.lua, without joining (undecided)
//	refused to a call that may wait                          take.lua, and joins (refusedNow)
type takeState int

const (
	decided     takeState = iota // the last answer was final
	undecided                    // only take.lua can decide
	refusedNow                   // it wants to join, and was just refused
	assumedHeld                  // it wants to join, and the name was found held a short while ago
)

// errUndecided says that take_free.lua cannot decide a take.
var errUndecided = errors.New("only take.lua can decide")

// afterAnswer returns what is known of a take after an answer.
func afterAnswer(r quorumnode.Request, err error) takeState {
	_, closed := errors.AsType[*ClosedError](err)
	switch {
	case errors.Is(err, errUndecided):
		return undecided
	case r.Join && (closed || errors.Is(err, driver.ErrHeld)):
		return refusedNow
	}
	return decided
}

// canTakeUncontended reports whether takeUncontended can handle a request if the name is free. If others waited for it
// when this process was granted it, and it was not released since, it is not free.
func (e *Engine) canTakeUncontended(r quorumnode.Request) bool {
	return r.Kind == driver.Lock && r.Mode == driver.Exclusive && e.replicas == 0 && !e.wantedByOthers.Has(r.Key)
}

// takeUncontended takes a lock that nobody holds or waits for, as most are when they are asked for. Its script,
// take_free.lua, has two steps only. It returns errUndecided if only take.lua can decide: see takeOrJoin.
func (e *Engine) takeUncontended(ctx context.Context, r quorumnode.Request, n redisKeys) (driver.Grant, error) {
	recalledBy, err := e.addRecallable(ctx, r, n)
	if err != nil {
		return driver.Grant{}, err
	}
	g, err := e.takeFree(ctx, r, n, recalledBy)
	if g.Recallable = err == nil && recalledBy != ""; err != nil && recalledBy != "" {
		e.removeRecallable(n.value, r.Owner)
	}
	return g, err
}

// takeFree is takeUncontended for a holder that can be asked to let go at recalledBy, or cannot be asked if that is
// empty.
func (e *Engine) takeFree(
	ctx context.Context, r quorumnode.Request, n redisKeys, recalledBy string,
) (driver.Grant, error) {
	var t uncontendedRequest
	first, err := t.setTake(r, n, recalledBy)
	if err != nil {
		return driver.Grant{}, err
	}
	answer, err := e.runUncontended(ctx, &t)
	return readTakeFree(answer, err, first, r.Request)
}

// newGrant checks and converts the token of a grant.
func newGrant(token, tokens int64, r driver.Request) (driver.Grant, error) {
	if token <= 0 || tokens <= 0 || token > driver.MaxToken || tokens > driver.MaxToken-token+1 {
		return driver.Grant{}, errReply
	}
	return driver.Grant{Token: uint64(token), Tokens: int(min(tokens, int64(max(r.Tokens, 1))))}, nil
}
