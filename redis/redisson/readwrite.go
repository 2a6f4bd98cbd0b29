package redisson

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// readWriteLock is the protocol of RReadWriteLock.
type readWriteLock struct{}

func readWriteChannel(name string) string { return withPrefix("redisson_rwlock", name) }

// notesKey returns where tokens and public texts are that the key of a lock has no room for.
func notesKey(name string) string { return withPrefix("leasehold_holders", name) }

// newCall makes a call of a script. A key that is empty is left out.
func (p readWriteLock) newCall(script *luascript.Script, name, key string, args ...any) call {
	keys := []string{name, notesKey(name)}
	if key != "" {
		keys = append(keys, key)
	}
	return call{script, keys, append([]any{strings.TrimSuffix(withSuffix(name, ""), ":")}, args...)}
}

func (p readWriteLock) channel(name, _ string) string { return readWriteChannel(name) }

func (p readWriteLock) take(name string, r driver.Request, _ bool, _ string) call {
	isReader := 0
	if r.Mode == driver.Shared {
		isReader = 1
	}
	return p.newCall(readWriteTake, name, tokenKey(name),
		ownerID(r.Owner), isReader, luascript.Millis(r.TTL), max(r.Tokens, 1), luascript.WithoutNUL(r.Holder))
}

func (p readWriteLock) release(name string, r driver.Release, publish string) call {
	return p.newCall(readWriteRelease, name, readWriteChannel(name),
		ownerID(r.Owner), publish, luascript.Millis(r.Keep), ownerID("keep "+r.Owner))
}

func (p readWriteLock) renew(name string, r driver.Renewal, _ string) call {
	return p.newCall(readWriteRenew, name, "", ownerID(r.Owner), luascript.Millis(r.TTL))
}

func (p readWriteLock) downgrade(name string, h driver.Hold, publish string) call {
	return p.newCall(readWriteDowngrade, name, readWriteChannel(name), ownerID(h.Owner), publish)
}

func (p readWriteLock) force(name string, token uint64, owners []string, publish string) call {
	return p.newCall(readWriteForce, name, readWriteChannel(name), publish, token, strings.Join(owners, ","))
}

func (p readWriteLock) ownersWithoutToken(status any) []string {
	owners := []string{}
	list, _ := status.([]any)
	for ; len(list) >= 4; list = list[4:] {
		owner, _ := list[0].(string)
		if note, _ := list[3].(string); note == "" && isOwnerID(owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}

func (p readWriteLock) status(name string) call { return p.newCall(readWriteStatus, name, "") }

func (p readWriteLock) readStatus(answer any) (st driver.Status, _ error) {
	list, isList := answer.([]any)
	if !isList || len(list)%4 != 0 {
		return st, errReply
	}
	for ; len(list) > 0; list = list[4:] {
		owner, _ := list[0].(string)
		mode, _ := list[1].(string)
		left, isNumber := list[2].(int64)
		note, isText := list[3].(string)
		if !isNumber || !isText {
			return st, errReply
		}
		h := driver.Holder{Weight: 1, TTL: driver.NoTTL, Age: -1, Holder: foreignHolder(owner)}
		if left >= 0 {
			h.TTL = luascript.Duration(left)
		}
		if mode == "read" {
			h.Mode = driver.Shared
		}
		if token, text, ours := strings.Cut(note, " "); ours {
			h.Token, _ = strconv.ParseUint(token, 10, 64)
			h.Holder = text
		}
		st.Holders = append(st.Holders, h)
	}
	slices.SortStableFunc(st.Holders, func(a, b driver.Holder) int { return cmp.Compare(a.Token, b.Token) })
	return st, nil
}
