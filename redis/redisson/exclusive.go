package redisson

import (
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// exclusiveLock is the protocol of RLock and RFencedLock.
type exclusiveLock struct{ tokens bool }

func lockChannel(name string) string { return withPrefix("redisson_lock__channel", name) }
func tokenKey(name string) string    { return withPrefix("redisson_lock_token", name) }

func (p exclusiveLock) channel(name, _ string) string { return lockChannel(name) }

func (p exclusiveLock) take(name string, r driver.Request, _ bool, _ string) call {
	keys := []string{name}
	if p.tokens {
		keys = append(keys, tokenKey(name))
	}
	return call{lockTake, keys,
		[]any{ownerID(r.Owner), luascript.Millis(r.TTL), max(r.Tokens, 1), luascript.WithoutNUL(r.Holder)}}
}

func (p exclusiveLock) release(name string, r driver.Release, publish string) call {
	return call{lockRelease, []string{name, lockChannel(name)},
		[]any{ownerID(r.Owner), publish, luascript.Millis(r.Keep), ownerID("keep " + r.Owner)}}
}

func (p exclusiveLock) renew(name string, r driver.Renewal, _ string) call {
	return call{lockRenew, []string{name}, []any{ownerID(r.Owner), luascript.Millis(r.TTL)}}
}

func (p exclusiveLock) downgrade(string, driver.Hold, string) call { return call{} }

func (p exclusiveLock) force(name string, token uint64, owners []string, publish string) call {
	return call{lockForce, []string{name, lockChannel(name)}, []any{publish, token, strings.Join(owners, ",")}}
}

func (p exclusiveLock) ownersWithoutToken(status any) []string {
	owners := []string{}
	items, _ := status.([]any)
	if len(items) < 2 {
		return owners
	}
	fields, _ := items[1].([]any)
	for i := 0; i < len(fields); i += 2 {
		if field, _ := fields[i].(string); field == fieldToken {
			return []string{}
		} else if isOwnerID(field) {
			owners = append(owners, field)
		}
	}
	return owners
}

// Fields that the engine adds to the hash of a lock that it holds.
const (
	fieldToken  = "leasehold:token"  // the last token of the grant
	fieldHolder = "leasehold:holder" // Request.Holder
)

func (p exclusiveLock) status(name string) call { return call{lockStatus, []string{name}, nil} }

func (p exclusiveLock) readStatus(answer any) (st driver.Status, _ error) {
	items, _ := answer.([]any)
	if len(items) != 2 {
		return st, errReply
	}
	millis, isNumber := items[0].(int64)
	fields, isList := items[1].([]any)
	if !isNumber || !isList {
		return st, errReply
	}
	h := driver.Holder{Weight: 1, TTL: driver.NoTTL, Age: -1}
	if millis >= 0 {
		h.TTL = luascript.Duration(millis)
	}
	holders, ours := 0, false
	for i := 0; i+1 < len(fields); i += 2 {
		field, _ := fields[i].(string)
		value, _ := fields[i+1].(string)
		switch {
		case field == fieldToken:
			h.Token, _ = strconv.ParseUint(value, 10, 64)
		case field == fieldHolder:
			h.Holder, ours = value, true
		case isOwnerID(field):
			if holders++; !ours {
				h.Holder = foreignHolder(field)
			}
		default:
			return st, nil
		}
	}
	if holders != 1 {
		return st, nil
	}
	st.Holders = []driver.Holder{h}
	return st, nil
}
