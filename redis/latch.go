package redis

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

func latchNames(e *Engine, name string) redisKeys {
	return e.names(driver.Key{Kind: driver.Latch, Name: name})
}

// publishCommand returns the command that notifies waiters of a latch. The channel has the name of the latch's key.
func (e *Engine) publishCommand(ctx context.Context, n redisKeys) (string, error) {
	cluster, err := e.router.askIsCluster(ctx, n)
	if cluster {
		return "SPUBLISH", err
	}
	return "PUBLISH", err
}

// runWithoutGrant runs a script that grants no lease.
func (e *Engine) runWithoutGrant(ctx context.Context, s script, n redisKeys, keys []string, args ...any) (any, error) {
	answer, _, err := e.runScript(ctx, e.send, s, n, newScriptCall(keys, args...))
	return answer, err
}

// TrySet implements [driver.Latcher].
func (e *Engine) TrySet(ctx context.Context, s driver.LatchSet) (bool, error) {
	return inTime(ctx, e, func(ctx context.Context) (bool, error) { return e.trySet(ctx, s) }, nil)
}

func (e *Engine) trySet(ctx context.Context, s driver.LatchSet) (bool, error) {
	n := latchNames(e, s.Name)
	publish, err := e.publishCommand(ctx, n)
	if err != nil {
		return false, err
	}
	err = replies.Held(e.runWithoutGrant(ctx, scriptLatchSet, n, n.valueAndToken(),
		s.ID, s.Count, luascript.Millis(s.TTL), floorArg(), publish))
	if errors.Is(err, driver.ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}

// CountDown implements [driver.Latcher].
func (e *Engine) CountDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	return inTime(ctx, e, func(ctx context.Context) (driver.LatchState, error) { return e.countDown(ctx, d) }, nil)
}

func (e *Engine) countDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	n := latchNames(e, d.Name)
	publish, err := e.publishCommand(ctx, n)
	if err != nil {
		return driver.LatchState{}, err
	}
	return replies.Latch(e.runWithoutGrant(ctx, scriptLatchDown, n, n.valueAndToken(),
		d.ID, luascript.Millis(d.TTL), publish))
}

// LatchState implements [driver.Latcher].
func (e *Engine) LatchState(ctx context.Context, name string) (driver.LatchState, error) {
	n := latchNames(e, name)
	return replies.Latch(e.runReadOnly(ctx, readCall{script: scriptLatchStatus, names: n, keys: n.valueAndToken()}))
}

// WaitLatch implements [driver.Latcher].
func (e *Engine) WaitLatch(ctx context.Context, name string, generation uint64) error {
	n := latchNames(e, name)
	w := newWaiter()
	defer e.unsubscribe(w)
	for polls := 1; ; polls++ {
		st, err := e.watchLatch(ctx, w, n, name)
		if err != nil {
			return err
		}
		if st.Count == 0 || st.Generation != generation {
			return nil
		}
		pause := maxPollInterval
		if w.notifyMethod() == "-" {
			pause = min(pollInitial<<min(polls, 10), pollMax)
		}
		if st.TTL >= 0 {
			pause = min(pause, st.TTL+time.Millisecond)
		}
		timer := time.NewTimer(pause + jitter(pause/8))
		select {
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if err := ctx.Err(); err != nil {
			return driver.NoEffect(err)
		}
	}
}

// watchLatch subscribes w and then reads the latch, so that no later change is missed.
func (e *Engine) watchLatch(ctx context.Context, w *waiter, n redisKeys, name string) (driver.LatchState, error) {
	return within(ctx, e, answerTimeout, func(ctx context.Context) (driver.LatchState, error) {
		cluster, err := e.readRouter.askIsCluster(ctx, n)
		if err == nil {
			err = e.subscribeTo(ctx, w, n, n.value, cluster)
		}
		if err != nil {
			return driver.LatchState{}, err
		}
		return e.LatchState(ctx, name)
	})
}
