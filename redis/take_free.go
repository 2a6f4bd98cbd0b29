package redis

import (
	"context"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// Most locks are free when they are taken, and most releases find nobody waiting. For these two cases there are scripts
// of two steps each.

// takeFree takes a lock that nobody holds or waits for. It returns errUseFullScript if only the full script can decide.
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
	t.kind, t.names, t.ttlMillis = takeRequest, n, toMillis(r.TTL)
	t.value = lockValue(r.Owner, text, int64(max(r.Tokens, 1)), withoutNUL(r.Holder))
	t.floorText = t.value[len(r.Owner)+1:][:len(text)]
	return first
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
		return driver.Grant{}, &driver.HeldError{Left: millisToDuration(-2 - token)}
	case token == 1:
		return driver.Grant{Token: uint64(first), Tokens: max(r.Tokens, 1)}, nil
	default:
		return newGrant(token, int64(max(r.Tokens, 1)), r)
	}
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

// runRequest has the batcher handle a request, or sends it at once if hardly anybody else sends one. It returns when
// ctx ends.
func (e *Engine) runRequest(ctx context.Context, r *batchRequest) (any, error) {
	if e.router.isSingle() {
		if !e.returnsInTime(ctx) || !e.batcher.beginDirect() {
			return e.batcher.wait(ctx, r)
		}
		defer e.batcher.endDirect()
	}
	if !e.returnsInTime(ctx) {
		return e.runDetached(ctx, *r)
	}
	return e.runDirect(ctx, *r)
}

// runDetached is runDirect in a goroutine that the caller leaves when ctx ends.
func (e *Engine) runDetached(ctx context.Context, r batchRequest) (any, error) {
	run := func(ctx context.Context) (any, error) { return e.runDirect(ctx, r) }
	return detach.Do(ctx, &e.workers, run, func(answer any, err error) { e.releaseGrant(&r, answer, err) })
}

// runDirect sends a request in a script of its own.
func (e *Engine) runDirect(ctx context.Context, r batchRequest) (any, error) {
	answer, _, err := e.runScript(ctx, e.send, r.script(), r.names, r.command())
	return answer, err
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

// releaseFree releases a lock that nobody waits for, and reports whether it did.
func (e *Engine) releaseFree(ctx context.Context, owner string, n names) (bool, error) {
	answer, err := e.runRequest(ctx, &batchRequest{kind: releaseRequest, names: n, value: owner})
	return answer == int64(1), err
}
