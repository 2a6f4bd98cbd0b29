package redis

import (
	"context"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// Most locks are free when they are taken, and nobody waits when they are released. For these two cases there are scripts of two
// steps.

// takeFree takes what nobody holds or waits for. It returns errAsk if that takes the whole script to tell.
func (e *Engine) takeFree(ctx context.Context, r driver.Request, n names) (driver.Grant, error) {
	t, first := taking(r, n)
	switch tokens := int64(max(r.Tokens, 1)); {
	case first > driver.MaxToken-tokens+1:
		return driver.Grant{}, errAsk // to be told that there are no more
	case tokens > 1:
		return e.takeSeveral(ctx, r, &t, first)
	}
	answer, err := e.do(ctx, t)
	return e.tookFree(answer, err, first, r)
}

// taking is the errand for a request, and the least token that it asks for.
func taking(r driver.Request, n names) (t errand, first int64) {
	first = least(r)
	var number [20]byte
	text := strconv.AppendInt(number[:0], first, 10)
	t = errand{kind: aTake, names: n, ttl: millis(r.TTL), text: holding(r.Owner, text, int64(max(r.Tokens, 1)), public(r.Holder))}
	t.least = t.text[len(r.Owner)+1:][:len(text)]
	return t, first
}

// tookFree reads the answer.
func (e *Engine) tookFree(answer any, err error, first int64, r driver.Request) (driver.Grant, error) {
	if err != nil {
		return driver.Grant{}, err
	}
	switch token, _ := answer.(int64); {
	case token == 0:
		return driver.Grant{}, errAsk
	case token == -1:
		return driver.Grant{}, &driver.HeldError{Left: -1}
	case token < 0:
		return driver.Grant{}, &driver.HeldError{Left: span(-2 - token)}
	case token == 1:
		return driver.Grant{Token: uint64(first), Tokens: max(r.Tokens, 1)}, nil
	default:
		return grantOf(token, int64(max(r.Tokens, 1)), r)
	}
}

// takeSeveral is takeFree for several tokens.
func (e *Engine) takeSeveral(ctx context.Context, r driver.Request, t *errand, first int64) (driver.Grant, error) {
	last := strconv.FormatInt(first+int64(r.Tokens)-1, 10)
	answer, _, err := e.runBy(ctx, e.evaluate, takeFree, t.names, ifOpen, append(t.command(), &last))
	return e.tookFree(answer, err, first, r)
}

// do has an errand done, by the caller itself if there is hardly anybody else.
func (e *Engine) do(ctx context.Context, r errand) (any, error) {
	if e.place.single() {
		if !e.couriers.self() {
			return e.couriers.wait(ctx, r)
		}
		defer e.couriers.home()
	}
	return e.carry(ctx, r)
}

// carry does an errand in place.
func (e *Engine) carry(ctx context.Context, r errand) (any, error) {
	answer, _, err := e.runBy(ctx, e.evaluate, r.script(), r.names, r.may(), r.command())
	return answer, err
}

// holding is the value of a lock: who holds it, the first of how many tokens, since when, and a text for people. See entry.lua.
func holding(owner string, least []byte, tokens int64, text string) string {
	var b strings.Builder
	b.Grow(len(owner) + 2*len(least) + len(text) + 24)
	b.WriteString(owner)
	b.WriteByte('\n')
	b.Write(least)
	b.WriteByte(' ')
	b.WriteString(strconv.FormatInt(tokens, 10))
	b.WriteByte(' ')
	b.Write(least)
	b.WriteByte('\n')
	b.WriteString(text)
	b.WriteByte('\n')
	return b.String()
}

// releaseFree releases what nobody waits for, and reports whether it did.
func (e *Engine) releaseFree(ctx context.Context, owner string, n names) (bool, error) {
	answer, err := e.do(ctx, errand{kind: aRelease, names: n, text: owner})
	return answer == int64(1), err
}
