package redis

import (
	"context"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// Most locks are free when they are taken, and nobody waits when they are released. For these two cases there are scripts of two
// steps, and all that is sent is in one piece of memory.

// taking is a request for what nobody holds or waits for.
type taking struct {
	keys               [2]string
	value, least, last string
	ttl                int64
	words              [9]any
}

// takeFree takes what nobody holds or waits for. It returns errAsk if that takes the whole script to tell.
func (e *Engine) takeFree(ctx context.Context, r driver.Request, n names) (driver.Grant, error) {
	first, tokens := least(r), int64(max(r.Tokens, 1))
	if first > driver.MaxToken-tokens+1 {
		return driver.Grant{}, errAsk // to be told that there are no more
	}
	var number [20]byte
	text := strconv.AppendInt(number[:0], first, 10)
	t := &taking{keys: [2]string{n.value, n.token}, ttl: millis(r.TTL)}
	t.value = holding(r.Owner, text, tokens, public(r.Holder))
	t.least = t.value[len(r.Owner)+1:][:len(text)]
	w := append(t.words[:0], nil, nil, 2, &t.keys[0], &t.keys[1], &t.value, &t.ttl, &t.least)
	if tokens > 1 {
		t.last = strconv.FormatInt(first+tokens-1, 10)
		w = append(w, &t.last)
	}
	answer, _, err := e.runBy(ctx, e.evaluate, takeFree, n, ifOpen, w)
	if err != nil {
		return driver.Grant{}, err
	}
	switch token, _ := answer.(int64); token {
	case 0:
		return driver.Grant{}, errAsk
	case -1:
		return driver.Grant{}, driver.ErrHeld
	case 1:
		return driver.Grant{Token: uint64(first), Tokens: int(tokens)}, nil
	default:
		return grantOf(token, tokens, r)
	}
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

// releasing is a release of what nobody waits for.
type releasing struct {
	value, owner string
	words        [5]any
}

// releaseFree releases what nobody waits for, and reports whether it did.
func (e *Engine) releaseFree(ctx context.Context, owner string, n names) (bool, error) {
	r := &releasing{value: n.value, owner: owner}
	answer, _, err := e.runBy(ctx, e.evaluate, releaseFree, n, never, append(r.words[:0], nil, nil, 1, &r.value, &r.owner))
	return answer == int64(1), err
}
