package redis

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// Release implements [driver.Engine].
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	if err := checkOwner(r.Owner); err != nil {
		return err
	}
	if e.unsent.Withdraw(r.Owner) {
		return driver.ErrNotHeld
	}
	n := e.names(r.Key)
	wantedByOthers := e.forgetOwner(n, r)
	if wantedByOthers || !canReleaseUncontended(r) || e.spentAtHead.Has(r.Owner) {
		return e.releaseFully(ctx, n, r)
	}
	return e.releaseUncontended(ctx, n, r)
}

// forgetOwner drops what this process knows of an owner that releases, and reports whether others wait for the name.
func (e *Engine) forgetOwner(n redisKeys, r driver.Release) (wantedByOthers bool) {
	e.removeRecallable(n.value, r.Owner)
	e.waiters.remove(r.Owner)
	return e.wantedByOthers.Remove(r.Key)
}

// canReleaseUncontended reports whether releaseUncontended can handle a release, provided that nobody waits.
func canReleaseUncontended(r driver.Release) bool {
	return r.Kind == driver.Lock && r.Mode == driver.Exclusive && r.Keep == 0
}

// releaseUncontended releases a lock that nobody waits for, the usual case. Its script, release_free.lua, has two
// steps only, and decides nothing if somebody waits.
func (e *Engine) releaseUncontended(ctx context.Context, n redisKeys, r driver.Release) error {
	answer, err := e.runUncontended(ctx, &uncontendedRequest{kind: releaseRequest, names: n, value: r.Owner})
	if err != nil || answer == int64(1) {
		return err
	}
	return e.releaseFully(ctx, n, r)
}

// releaseFully releases whatever the owner holds, or its place in the queue.
func (e *Engine) releaseFully(ctx context.Context, n redisKeys, r driver.Release) error {
	keepHead := e.spentAtHead.Has(r.Owner)
	answer, err := e.run(ctx, scriptRelease, n,
		r.Owner, floorArg(), luascript.Millis(r.Keep), placeArg(r.Place, r.Owner), flagArg(keepHead))
	err = e.readReleased(ctx, n, answer, err)
	if keepHead && (err == nil || driver.IsNo(err)) {
		e.spentAtHead.Remove(r.Owner)
	}
	return err
}

const (
	// answerUnfinished is what a script that releases adds to its answer if it has stopped before it was done: see
	// unfinished in lock.lua.
	answerUnfinished = 2
	// nobody is an owner that does not exist, as checkOwner refuses it. Its release only hands over.
	nobody = "\x7f"
)

// readReleased reads the answer of a script that releases, and does what the script has left.
func (e *Engine) readReleased(ctx context.Context, n redisKeys, answer any, err error) error {
	if held, ok := answer.(int64); ok && held >= answerUnfinished {
		answer = held - answerUnfinished
		e.finishHandOver(ctx, n)
	}
	return replies.Held(answer, err)
}

// finishHandOver runs scripts until the next waiter holds, after one that has stopped before: very many waiters are
// dead, or are granted the lock together, or very many shared leases have ended. What becomes of these scripts does not
// matter to the request: if one fails, the next waiter polls.
func (e *Engine) finishHandOver(ctx context.Context, n redisKeys) {
	for more := true; more; {
		answer, err := e.run(ctx, scriptRelease, n, nobody, floorArg(), 0, "", "")
		held, _ := answer.(int64)
		more = err == nil && held >= answerUnfinished
	}
}
