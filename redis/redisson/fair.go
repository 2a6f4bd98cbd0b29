package redisson

import (
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

const (
	// waiterLifetime is for how long others believe that a waiter of a fair lock is alive: it asks again four times as
	// often, even if nothing happens.
	waiterLifetime = 5 * time.Second
	// fairWait is Redisson's default of fairLockWaitTimeout.
	fairWait = 5 * time.Minute
)

// fairLock is the protocol of RFairLock. A waiter that goes on with another owner, as its request had no answer in
// time, joins again at the end of the queue: a release of the first owner may be under way, so its place cannot be
// kept.
type fairLock struct{}

func (p fairLock) newCall(script *luascript.Script, name, publish string, moreKeys []string, args ...any) call {
	keys := []string{name, withPrefix("redisson_lock_queue", name), withPrefix("redisson_lock_timeout", name),
		withPrefix("leasehold_waiters", name), lockChannel(name)}
	now := time.Now().UnixMilli() // as Redisson does: the server does not compare it with its own clock
	return call{script, append(keys, moreKeys...),
		append([]any{now, luascript.Millis(waiterLifetime), publish}, args...)}
}

func (p fairLock) channel(name, owner string) string { return lockChannel(name) + ":" + ownerID(owner) }

func (p fairLock) take(name string, r driver.Request, join bool, publish string) call {
	joins := 0
	if join {
		joins = 1
	}
	return p.newCall(fairTake, name, publish, []string{tokenKey(name)}, ownerID(r.Owner), luascript.Millis(r.TTL),
		max(r.Tokens, 1), luascript.WithoutNUL(r.Holder), joins, r.MaxWaiters, luascript.Millis(fairWait))
}

func (p fairLock) release(name string, r driver.Release, publish string) call {
	return p.newCall(fairRelease, name, publish, nil,
		ownerID(r.Owner), luascript.Millis(r.Keep), ownerID("keep "+r.Owner))
}

func (p fairLock) renew(name string, r driver.Renewal, publish string) call {
	return p.newCall(fairRenew, name, publish, nil, ownerID(r.Owner), luascript.Millis(r.TTL))
}

func (p fairLock) downgrade(string, driver.Hold, string) call { return call{} }

func (p fairLock) force(name string, token uint64, owners []string, publish string) call {
	return p.newCall(fairForce, name, publish, nil, token, strings.Join(owners, ","))
}

func (p fairLock) ownersWithoutToken(status any) []string {
	return exclusiveLock{}.ownersWithoutToken(status)
}

func (p fairLock) status(name string) call { return p.newCall(fairStatus, name, "", nil) }

func (p fairLock) readStatus(answer any) (st driver.Status, err error) {
	items, _ := answer.([]any)
	if len(items) != 3 {
		return st, errReply
	}
	if fields, _ := items[1].([]any); len(fields) > 0 {
		if st, err = (exclusiveLock{}).readStatus(items[:2]); err != nil || len(st.Holders) == 0 {
			return st, err
		}
	}
	queue, isList := items[2].([]any)
	if !isList || len(queue)%2 != 0 {
		return st, errReply
	}
	for ; len(queue) > 0; queue = queue[2:] {
		owner, _ := queue[0].(string)
		text, ours := queue[1].(string)
		if !ours {
			text = foreignHolder(owner)
		}
		st.Queue = append(st.Queue, driver.Waiter{Weight: 1, Holder: text, Age: -1})
	}
	st.Waiting = len(st.Queue)
	return st, nil
}
