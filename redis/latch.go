package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

func latchNames(e *Engine, name string) names {
	return e.names(driver.Key{Kind: driver.Latch, Name: name})
}

// publish is the command that tells those who wait for a latch. Its channel is named like the latch's key.
func (e *Engine) publish(ctx context.Context, n names) (string, error) {
	cluster, err := e.place.isCluster(ctx, n)
	if cluster {
		return "SPUBLISH", err
	}
	return "PUBLISH", err
}

// ask runs a script that grants no lease.
func (e *Engine) ask(ctx context.Context, s script, n names, keys []string, args ...any) (any, error) {
	answer, _, err := e.runBy(ctx, e.evaluate, s, n, never, newWords(keys, args...))
	return answer, err
}

// TrySet implements [driver.Latcher].
func (e *Engine) TrySet(ctx context.Context, s driver.LatchSet) (bool, error) {
	n := latchNames(e, s.Name)
	publish, err := e.publish(ctx, n)
	if err != nil {
		return false, err
	}
	err = yes(e.ask(ctx, latchSet, n, n.counted(), s.ID, s.Count, millis(s.TTL), floor(), publish))
	if errors.Is(err, driver.ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}

// CountDown implements [driver.Latcher].
func (e *Engine) CountDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	n := latchNames(e, d.Name)
	publish, err := e.publish(ctx, n)
	if err != nil {
		return driver.LatchState{}, err
	}
	return readLatch(e.ask(ctx, latchDown, n, n.counted(), d.ID, millis(d.TTL), publish))
}

// LatchState implements [driver.Latcher].
func (e *Engine) LatchState(ctx context.Context, name string) (driver.LatchState, error) {
	n := latchNames(e, name)
	return readLatch(e.peek(ctx, glance{script: latchLook, names: n, keys: n.counted()}))
}

func readLatch(answer any, err error) (st driver.LatchState, _ error) {
	if err != nil {
		return st, err
	}
	if answer == int64(0) {
		return st, driver.ErrNotSet
	}
	items, ok := answer.([]any)
	if !ok || len(items) != 3 {
		return st, errReply
	}
	text, _ := items[0].(string)
	st.Generation, err = strconv.ParseUint(text, 10, 64)
	count, isCount := items[1].(int64)
	ttl, isTTL := items[2].(int64)
	if err != nil || !isCount || !isTTL || count < 0 {
		return driver.LatchState{}, errReply
	}
	st.Count, st.TTL = int(count), leftOf(ttl)
	return st, nil
}

// WaitLatch implements [driver.Latcher].
func (e *Engine) WaitLatch(ctx context.Context, name string, generation uint64) error {
	n := latchNames(e, name)
	w := &waiter{wake: make(chan struct{}, 1)}
	defer e.ears.leave(w)
	for polls := 1; ; polls++ {
		st, err := e.watchLatch(ctx, w, n, name)
		if err != nil {
			return err
		}
		if st.Count == 0 || st.Generation != generation {
			return nil
		}
		pause := lookEvery
		if w.how() == "-" {
			pause = min(pollFirst<<min(polls, 10), pollLast)
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

// watchLatch reads a latch after w has begun to listen, so that no change after it is missed.
func (e *Engine) watchLatch(ctx context.Context, w *waiter, n names, name string) (driver.LatchState, error) {
	return within(ctx, lookLimit, func(ctx context.Context) (driver.LatchState, error) {
		cluster, err := e.sights.isCluster(ctx, n)
		if err == nil {
			err = e.listenTo(ctx, w, n, n.value, cluster)
		}
		if err != nil {
			return driver.LatchState{}, err
		}
		return e.LatchState(ctx, name)
	})
}
