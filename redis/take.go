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

// TakeFrom implements [quorumnode.Raiser].
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
		return e.joinInTime(ctx, r, n)
	}
	// Hardly any lock is held when it is asked for, so do not subscribe before it is known to be.
	var g driver.Grant
	err := errUseFullScript
	if e.canTakeFree(r) {
		g, err = e.takeFree(ctx, r, n)
	}
	if !e.isUndecided(r, err) {
		return g, err
	}
	return e.takeOrJoinInTime(ctx, r, n, err)
}

// canTakeFree reports whether takeFree can handle a request if the name is free. If others waited for it when this
// process was granted it, and it was not released since, it is not free.
func (e *Engine) canTakeFree(r quorumnode.Request) bool {
	return r.Kind == driver.Lock && r.Mode == driver.Exclusive && e.replicas == 0 && !e.wantedByOthers.Has(r.Key)
}

// isUndecided reports whether the answer to a take is not final.
func (e *Engine) isUndecided(r quorumnode.Request, err error) bool {
	return errors.Is(err, errUseFullScript) || r.Join && isRefused(err)
}

// errUseFullScript says that only the full script can decide.
var errUseFullScript = errors.New("ask again")

// isRefused reports whether err says that the name is not granted now, but may be later.
func isRefused(err error) bool {
	_, closed := errors.AsType[*ClosedError](err)
	return closed || errors.Is(err, driver.ErrHeld)
}

// takeFree takes a lock that nobody holds or waits for, as most are when they are asked for. Its script, take_free.lua,
// has two steps only. It returns errUseFullScript if only the full script can decide, see takeOrJoin.
func (e *Engine) takeFree(ctx context.Context, r quorumnode.Request, n names) (driver.Grant, error) {
	var t batchRequest
	first := t.setTake(r, n)
	switch tokens := int64(max(r.Tokens, 1)); {
	case first > driver.MaxToken-tokens+1:
		return driver.Grant{}, errUseFullScript // it will say that there are no more tokens
	case tokens > 1:
		return e.takeFreeRange(ctx, r.Request, t, first)
	}
	answer, err := e.runRequest(ctx, &t)
	return e.readTakeFree(answer, err, first, r.Request)
}

// setTake makes t the batch request for a take, and returns the smallest token that it accepts.
func (t *batchRequest) setTake(r quorumnode.Request, n names) (first int64) {
	first = tokenFloor(r)
	var number [20]byte
	text := strconv.AppendInt(number[:0], first, 10)
	t.kind, t.names, t.ttlMillis = takeRequest, n, luascript.Millis(r.TTL)
	t.value = lockValue(r.Owner, text, int64(max(r.Tokens, 1)), luascript.WithoutNUL(r.Holder))
	t.floorText = t.value[len(r.Owner)+1:][:len(text)]
	return first
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

// takeFreeRange is takeFree for several tokens.
func (e *Engine) takeFreeRange(
	ctx context.Context, r driver.Request, t batchRequest, first int64,
) (driver.Grant, error) {
	last := strconv.FormatInt(first+int64(r.Tokens)-1, 10)
	answer, err := inTime(ctx, e, func(ctx context.Context) (any, error) {
		answer, _, err := e.runScript(ctx, e.send, scriptTakeFree, t.names, append(t.command(), &last))
		return answer, err
	}, func(answer any, err error) { e.releaseGrant(&t, answer, err) })
	return e.readTakeFree(answer, err, first, r)
}

// readTakeFree reads the answer of take_free.lua.
func (e *Engine) readTakeFree(answer any, err error, first int64, r driver.Request) (driver.Grant, error) {
	if err != nil {
		return driver.Grant{}, err
	}
	switch token, _ := answer.(int64); {
	case token == 0:
		return driver.Grant{}, errUseFullScript
	case token == -1:
		return driver.Grant{}, &driver.HeldError{Left: -1}
	case token < 0:
		return driver.Grant{}, &driver.HeldError{Left: luascript.Duration(-2 - token)}
	case token == 1:
		return driver.Grant{Token: uint64(first), Tokens: max(r.Tokens, 1)}, nil
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
