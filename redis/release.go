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
	if wantedByOthers := e.forgetOwner(r); !wantedByOthers && canReleaseFree(r) && !e.spentAtHead.Has(r.Owner) {
		if done, err := e.releaseFree(ctx, r.Owner, e.names(r.Key)); done || err != nil {
			return err
		}
	}
	return e.releaseFully(ctx, r)
}

// forgetOwner drops what this process knows of an owner that releases, and reports whether others wait for the name.
func (e *Engine) forgetOwner(r driver.Release) (wantedByOthers bool) {
	e.waiters.remove(r.Owner)
	return e.wantedByOthers.Remove(r.Key)
}

// canReleaseFree reports whether releaseFree can handle a release, provided that nobody waits.
func canReleaseFree(r driver.Release) bool {
	return r.Kind == driver.Lock && r.Mode == driver.Exclusive && r.Keep == 0
}

// releaseFree releases a lock that nobody waits for, as is mostly so, and reports whether it did. Its script,
// release_free.lua, has two steps only.
func (e *Engine) releaseFree(ctx context.Context, owner string, n names) (bool, error) {
	answer, err := e.runFree(ctx, &freeRequest{kind: releaseRequest, names: n, value: owner})
	return answer == int64(1), err
}

// releaseFully releases whatever the owner holds, or its place in the queue.
func (e *Engine) releaseFully(ctx context.Context, r driver.Release) error {
	keepHead := e.spentAtHead.Has(r.Owner)
	err := replies.Held(e.run(ctx, scriptRelease, e.names(r.Key),
		r.Owner, floorArg(), luascript.Millis(r.Keep), placeArg(r.Place, r.Owner), flagArg(keepHead)))
	if keepHead && (err == nil || driver.IsNo(err)) {
		e.spentAtHead.Remove(r.Owner)
	}
	return err
}
