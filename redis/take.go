package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// Take implements [driver.Engine].
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return e.TakeFrom(ctx, quorumnode.Request{Request: r})
}

// TakeFrom implements [quorumnode.Node].
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
	if r.Join && e.contended.Has(r.Key) && e.canJoinAtOnce(n) {
		return e.takeOrJoin(ctx, r, n, errContended)
	}
	// Hardly any lock is held when it is asked for, so do not subscribe before it is known to be.
	var g driver.Grant
	err := errUndecided
	if e.canTakeFree(r) {
		g, err = e.takeFree(ctx, r, n)
	}
	if isDecided(r, err) {
		return g, err
	}
	return e.takeOrJoin(ctx, r, n, err)
}

// canTakeFree reports whether takeFree can handle a request if the name is free. If others waited for it when this
// process was granted it, and it was not released since, it is not free.
func (e *Engine) canTakeFree(r quorumnode.Request) bool {
	return r.Kind == driver.Lock && r.Mode == driver.Exclusive && e.replicas == 0 && !e.wantedByOthers.Has(r.Key)
}

// What is known of a name before takeOrJoin, besides a refusal.
var (
	errUndecided = errors.New("only take.lua can decide")
	errContended = errors.New("found held a short while ago")
)

// isDecided reports whether the answer to a take is final.
func isDecided(r quorumnode.Request, err error) bool {
	return !errors.Is(err, errUndecided) && !(r.Join && isRefused(err))
}

// isRefused reports whether err says that the name is not granted now, but may be later.
func isRefused(err error) bool {
	_, closed := errors.AsType[*ClosedError](err)
	return closed || errors.Is(err, driver.ErrHeld)
}

// takeFree takes a lock that nobody holds or waits for, as most are when they are asked for. Its script, take_free.lua,
// has two steps only. It returns errUndecided if only take.lua can decide: see takeOrJoin.
func (e *Engine) takeFree(ctx context.Context, r quorumnode.Request, n names) (driver.Grant, error) {
	var t freeRequest
	first, err := t.setTake(r, n)
	if err != nil {
		return driver.Grant{}, err
	}
	answer, err := e.runFree(ctx, &t)
	return readTakeFree(answer, err, first, r.Request)
}

// setTake makes t a take, and returns the smallest token that it accepts.
func (t *freeRequest) setTake(r quorumnode.Request, n names) (first int64, _ error) {
	t.kind, t.names = takeRequest, n
	first = tokenFloor(r)
	tokens := int64(max(r.Tokens, 1))
	if first > driver.MaxToken-tokens+1 {
		return 0, errUndecided // take.lua will say that there are no more tokens
	}
	var number [20]byte
	text := strconv.AppendInt(number[:0], first, 10)
	t.ttlMillis = luascript.Millis(r.TTL)
	t.value = lockValue(r.Owner, text, tokens, luascript.WithoutNUL(r.Holder))
	t.floorText = t.value[len(r.Owner)+1:][:len(text)]
	if tokens > 1 {
		t.lastText = strconv.FormatInt(first+tokens-1, 10)
	}
	return first, nil
}

// tokenFloor returns the smallest token that may be granted to a request.
func tokenFloor(r quorumnode.Request) int64 {
	if r.Floor != 0 {
		return int64(r.Floor)
	}
	return nowMicros()
}

// lockValue returns the value of a lock: owner, first token, number of tokens, time of the grant, and holder text. That
// time is the client's clock, as the first token is. See lock.lua.
func lockValue(owner string, firstToken []byte, tokens int64, text string) string {
	var b strings.Builder
	b.Grow(len(owner) + 2*len(firstToken) + len(text) + 24)
	b.WriteString(owner)
	b.WriteByte('\n')
	b.Write(firstToken)
	b.WriteByte(' ')
	b.WriteString(strconv.FormatInt(tokens, 10))
	b.WriteByte(' ')
	b.Write(firstToken)
	b.WriteByte('\n')
	b.WriteString(text)
	b.WriteByte('\n')
	return b.String()
}

// Answers of take_free.lua and batch.lua that are no tokens. A smaller one than freeHeldUntil is freeHeldUntil - ms.
const (
	freeUndecided   = 0  // only take.lua can decide
	freeGranted     = 1  // granted, with the smallest token that the request accepts
	freeHeldForever = -1 // held, without expiry
	freeHeldUntil   = -2 // held for a time
)

// readTakeFree reads the answer of take_free.lua.
func readTakeFree(answer any, err error, first int64, r driver.Request) (driver.Grant, error) {
	if errors.Is(err, errGrantsClosed) {
		err = errUndecided // take.lua says for how long, and can join
	}
	if err != nil {
		return driver.Grant{}, err
	}
	switch token, _ := answer.(int64); {
	case token == freeUndecided:
		return driver.Grant{}, errUndecided
	case token == freeGranted:
		return driver.Grant{Token: uint64(first), Tokens: max(r.Tokens, 1)}, nil
	case token == freeHeldForever:
		return driver.Grant{}, &driver.HeldError{Left: -1}
	case token <= freeHeldUntil:
		return driver.Grant{}, &driver.HeldError{Left: luascript.Duration(freeHeldUntil - token)}
	default:
		return newGrant(token, int64(max(r.Tokens, 1)), r)
	}
}

// newGrant checks and converts the token of a grant.
func newGrant(token, tokens int64, r driver.Request) (driver.Grant, error) {
	if token <= 0 || tokens <= 0 || token > driver.MaxToken || tokens > driver.MaxToken-token+1 {
		return driver.Grant{}, errReply
	}
	return driver.Grant{Token: uint64(token), Tokens: int(min(tokens, int64(max(r.Tokens, 1))))}, nil
}
