package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// uncontendedRequest takes a lock that is likely to be free, or releases one for which nobody is likely to wait, or
// does both, or passes one to another owner. Its scripts are short: take_free.lua, release_free.lua, exchange.lua and
// pass.lua, or batch.lua for several requests.
type uncontendedRequest struct {
	kind      requestKind
	names     redisKeys // the scripts need the value's key and, unless they release, the token's key
	value     string    // what to store; release: the owner
	holder    string    // pass: the owner that holds
	ttlMillis int64     // ms
	floorText string    // the smallest token allowed
	lastText  string    // take of several tokens: the last one, if the first is the smallest
	releases  string    // take: an owner that is released before, or empty
	deadline  time.Time // the request is useless after this

	// onAnswer is called once, from any goroutine, with the script's answer; after a release and a take in a batch,
	// with a list of both. It must not block.
	onAnswer func(answer any, err error)
}

// requestKind is the kind of a request. The order of the constants is the order that batch.lua expects.
type requestKind int

const (
	releaseRequest requestKind = iota
	takeRequest
	passRequest
)

// script returns the script that handles this request alone.
func (r *uncontendedRequest) script() script {
	switch {
	case r.releases != "":
		return scriptExchange
	case r.kind == takeRequest:
		return scriptTakeFree
	case r.kind == passRequest:
		return scriptPass
	}
	return scriptReleaseFree
}

// args appends the request's arguments to a script call, without those of a release before a take.
func (r *uncontendedRequest) args(call scriptCall) scriptCall {
	if r.kind == passRequest {
		call = append(call, &r.holder)
	}
	if call = append(call, &r.value); r.kind != releaseRequest {
		call = append(call, &r.ttlMillis, &r.floorText)
	}
	if r.lastText != "" {
		call = append(call, &r.lastText)
	}
	return call
}

// call returns the call of the script that handles this request alone.
func (r *uncontendedRequest) call() scriptCall {
	call := make(scriptCall, 3, 12)
	if call = append(call, &r.names.value); r.kind != releaseRequest {
		call = append(call, &r.names.token)
	}
	call[2] = len(call) - 3
	if r.releases != "" {
		call = append(call, &r.releases)
	}
	return r.args(call)
}

// released returns the owner that the request releases, or nil.
func (r *uncontendedRequest) released() *string {
	switch {
	case r.kind == releaseRequest:
		return &r.value
	case r.releases != "":
		return &r.releases
	}
	return nil
}

// appendBatch appends the keys and arguments of batch.lua: all releases, then all takes, then all passes, as the
// requests are sorted. The first three words of the call are there.
func appendBatch(call scriptCall, requests ...*uncontendedRequest) scriptCall {
	releases, takes := 0, 0
	for _, r := range requests {
		if r.released() != nil {
			call = append(call, &r.names.value)
			releases++
		}
	}
	for _, r := range requests {
		switch r.kind {
		case takeRequest:
			takes++
			call = append(call, &r.names.value, &r.names.token)
		case passRequest:
			call = append(call, &r.names.value, &r.names.token)
		}
	}
	call[2] = len(call) - 3
	call = append(call, releases, takes)
	for _, r := range requests {
		if owner := r.released(); owner != nil {
			call = append(call, owner)
		}
	}
	for _, r := range requests {
		if r.kind != releaseRequest {
			call = r.args(call)
		}
	}
	return call
}

// batchAnswers returns the answer to each request of a batch, from those of batch.lua. It reports false if there are
// too few or too many.
func batchAnswers(answers []any, requests []*uncontendedRequest) ([]any, bool) {
	releases, others := 0, 0
	for _, r := range requests {
		if r.released() != nil {
			releases++
		}
		if r.kind != releaseRequest {
			others++
		}
	}
	if len(answers) != releases+others {
		return nil, false
	}
	ofReleases, ofOthers := answers[:releases], answers[releases:]
	list := make([]any, len(requests))
	for i, r := range requests {
		if r.released() != nil {
			list[i], ofReleases = ofReleases[0], ofReleases[1:]
		}
		if r.kind != releaseRequest {
			answer := ofOthers[0]
			if ofOthers = ofOthers[1:]; r.releases != "" {
				answer = []any{list[i], answer}
			}
			list[i] = answer
		}
	}
	return list, true
}

// setTake makes t a take, and returns the smallest token that it accepts. recalledBy is where the holder can be asked
// to let go, or empty.
func (t *uncontendedRequest) setTake(r quorumnode.Request, n redisKeys, recalledBy string) (first int64, _ error) {
	t.kind, t.names = takeRequest, n
	first = tokenFloor(r)
	tokens := int64(max(r.Tokens, 1))
	if first > driver.MaxToken-tokens+1 {
		return 0, errUndecided // take.lua will say that there are no more tokens
	}
	var number [20]byte
	text := strconv.AppendInt(number[:0], first, 10)
	t.ttlMillis = luascript.Millis(r.TTL)
	t.value = lockValue(r.Owner, text, tokens, recalledBy, luascript.WithoutNUL(r.Holder))
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

// nowMicros returns the client's clock in microseconds, as tokens count it. A clock that was never set may stand before
// 1970.
func nowMicros() int64 { return max(time.Now().UnixMicro(), 1) }

// floorArg returns the smallest token that may be granted now, for the scripts.
func floorArg() string { return strconv.FormatInt(nowMicros(), 10) }

// lockValue returns the value of a lock: owner, first token, number of tokens, time of the grant, where the holder can
// be asked to let go, and holder text. That time is the client's clock, as the first token is. See lock.lua.
func lockValue(owner string, firstToken []byte, tokens int64, recalledBy, text string) string {
	var b strings.Builder
	b.Grow(len(owner) + 2*len(firstToken) + len(recalledBy) + len(text) + 25)
	b.WriteString(owner)
	b.WriteByte('\n')
	b.Write(firstToken)
	b.WriteByte(' ')
	b.WriteString(strconv.FormatInt(tokens, 10))
	b.WriteByte(' ')
	b.Write(firstToken)
	if recalledBy != "" {
		b.WriteByte(' ')
		b.WriteString(recalledBy)
	}
	b.WriteByte('\n')
	b.WriteString(text)
	b.WriteByte('\n')
	return b.String()
}

// Answers of take_free.lua and batch.lua that are no tokens. A smaller one than the last is answerHeldUntil - ms, or
// answerLingers less than that if the holder can be recalled, and nobody waits.
const (
	answerUndecided   = 0  // only take.lua can decide
	answerGranted     = 1  // granted, with the smallest token that the request accepts
	answerHeldForever = -1 // held, without expiry
	answerHeldUntil   = -2 // held for a time

	answerLingers = -1 << 42
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
	case token == answerUndecided:
		return driver.Grant{}, errUndecided
	case token == answerGranted:
		return driver.Grant{Token: uint64(first), Tokens: max(r.Tokens, 1)}, nil
	case token == answerHeldForever:
		return driver.Grant{}, &driver.HeldError{Left: -1}
	case token <= answerHeldUntil+answerLingers:
		left := luascript.Duration(answerHeldUntil + answerLingers - token)
		return driver.Grant{}, &driver.HeldError{Left: left, Lingers: true}
	case token <= answerHeldUntil:
		return driver.Grant{}, &driver.HeldError{Left: luascript.Duration(answerHeldUntil - token)}
	default:
		return newGrant(token, int64(max(r.Tokens, 1)), r)
	}
}

// runUncontended sends a take or release in a script of its own, or has the batcher send it with those of others. It
// returns when ctx ends.
func (e *Engine) runUncontended(ctx context.Context, r *uncontendedRequest) (any, error) {
	if !e.beginAlone(r) {
		return e.batcher.wait(ctx, r)
	}
	own := *r // on the heap, unlike that of a caller that waits for the batcher
	if e.returnsInTime(ctx) {
		return e.runAlone(ctx, &own)
	}
	if interruptible := e.interruptible(ctx); interruptible != nil {
		answer, err := e.runAlone(interruptible, &own)
		return answer, interruptible.End(err)
	}
	return detach.Call(ctx, &e.workers, func(ctx context.Context) (any, error) {
		return e.runAlone(ctx, &own)
	}, func(answer any, err error) { e.releaseGrant(&own, answer, err) })
}

// maxAlone is how many callers may send their requests alone at the same time, while no sender of the batcher is busy.
const maxAlone = 2

// beginAlone reports whether a caller may send a request in a script of its own: if the batcher cannot send it, or if
// hardly anybody else sends one. If so, the caller must call runAlone.
func (e *Engine) beginAlone(r *uncontendedRequest) bool {
	count := e.alone.Add(1)
	if e.router.isSingle() && r.lastText == "" {
		if _, busy, _ := e.batcher.Load(); busy > 0 || count > maxAlone {
			e.alone.Add(-1)
			return false
		}
	}
	return true
}

// runAlone sends a request in a script of its own. It counts until it returns, even if its caller has left.
func (e *Engine) runAlone(ctx context.Context, r *uncontendedRequest) (any, error) {
	defer e.alone.Add(-1)
	if err := ctx.Err(); err != nil {
		return nil, driver.NoEffect(err)
	}
	answer, _, err := e.runScript(ctx, e.send, r.script(), r.names, r.call())
	return answer, err
}

// releaseGrant releases in the background what r, a take whose caller has left, was granted. Otherwise the core's
// clean-up would do so at its next repetition. An engine that is one of several nodes releases nothing by itself,
// because its late vote may count by then.
func (e *Engine) releaseGrant(r *uncontendedRequest, answer any, err error) {
	if both, is := answer.([]any); is && r.releases != "" && len(both) == 2 {
		answer = both[1]
	}
	token, _ := answer.(int64)
	if r.kind != takeRequest || e.nodeList != nil || err != nil || token <= 0 {
		return
	}
	owner, _, _ := strings.Cut(r.value, "\n")
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), leftTakeTimeout)
		defer cancel()
		_ = e.releaseUncontended(ctx, r.names, driver.Release{Hold: driver.Hold{Owner: owner}})
	}()
}
