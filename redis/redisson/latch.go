package redisson

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// A latch is an RCountDownLatch: a number that is gone at zero. Programs in Java know neither generations nor a time to
// live, nor whether a latch at zero was ever set. What the contract of engines needs besides is in a hash beside:
//
//   - A latch that a program in Java has set has generation 0 and lives until it comes down to zero. If no program in
//     Go has counted it down, it is then not set for them, while programs in Java take every latch that is not set for
//     one at zero.
//   - A latch that a program in Go has set is gone when its time to live has passed. Programs in Java that wait are not
//     notified of that, as the server sends no message for it, and then go on as if it were at zero.

func latchChannel(name string) string { return "redisson_countdownlatch__channel__{" + name + "}" }
func latchHash(name string) string    { return withPrefix("leasehold_latch", name) }

// latchOf returns the name of the latch that has a hash beside.
func latchOf(key string) (name string, ok bool) {
	return nameBehind("leasehold_latch", key)
}

// latchKeys are the keys of all scripts of latches.
func latchKeys(name string) []string {
	return []string{name, latchHash(name), permitNumbers(name), latchChannel(name)}
}

// latchName returns the name under which Redisson knows a latch.
func (e *Engine) latchName(name string) (string, error) {
	if e.connections.IsClosed() {
		return "", errClosed
	}
	name, err := e.name(driver.Key{Kind: driver.Latch, Name: name})
	if err == nil && e.isCluster && slotTag(latchChannel(name)) != slotTag(name) {
		err = &NameError{name, "Redisson puts key and channel of such a latch into two slots of a " +
			"Cluster: use a name without braces"}
	}
	return name, err
}

// runLatch runs a script of latches.
func (e *Engine) runLatch(
	ctx context.Context, name string, build func(keys []string, publish string) call,
) (any, error) {
	name, err := e.latchName(name)
	if err != nil {
		return nil, err
	}
	return e.run(ctx, func(publish string) call { return build(latchKeys(name), publish) })
}

// TrySet implements [driver.Latcher].
func (e *Engine) TrySet(ctx context.Context, s driver.LatchSet) (bool, error) {
	err := replies.Held(e.runLatch(ctx, s.Name, func(keys []string, publish string) call {
		return call{latchSet, keys, []any{s.ID, publish, s.Count, luascript.Millis(s.TTL)}}
	}))
	if errors.Is(err, driver.ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}

// CountDown implements [driver.Latcher].
func (e *Engine) CountDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	return replies.Latch(e.runLatch(ctx, d.Name, func(keys []string, publish string) call {
		return call{latchDown, keys, []any{d.ID, publish, luascript.Millis(d.TTL)}}
	}))
}

// DeleteLatch deletes a latch, as delete of RCountDownLatch does, and reports whether it was above zero. Those that
// wait go on as if it had come down to zero. After an error without driver.NoEffect it may be deleted.
func (e *Engine) DeleteLatch(ctx context.Context, name string) (bool, error) {
	answer, err := readInteger(e.runLatch(ctx, name, func(keys []string, publish string) call {
		return call{latchDelete, keys, []any{publish}}
	}))
	return answer == 1, err
}

// LatchState implements [driver.Latcher].
func (e *Engine) LatchState(ctx context.Context, name string) (driver.LatchState, error) {
	return replies.Latch(e.runLatch(ctx, name, func(keys []string, _ string) call {
		return newLatchState(keys, false)
	}))
}

// newLatchState makes a call that reads a latch. A latch that programs in Go have not used looks like any other number.
func newLatchState(keys []string, usedOnly bool) call {
	used := 0
	if usedOnly {
		used = 1
	}
	return call{latchStatus, keys[:3], []any{used}}
}

// WaitLatch implements [driver.Latcher].
func (e *Engine) WaitLatch(ctx context.Context, name string, generation uint64) error {
	full, err := e.latchName(name)
	if err != nil {
		return err
	}
	ended := e.pollUntil(ctx, latchChannel(full), false, func() (again time.Duration, done bool) {
		var st driver.LatchState
		st, err = e.pollLatch(ctx, name)
		switch {
		case errors.Is(err, driver.ErrNotSet) && generation == 0:
			err = nil // a program in Java had set it, so it is gone because it came down to zero
			return 0, true
		case err != nil:
			return 0, true
		}
		return st.TTL, st.Count == 0 || st.Generation != generation
	})
	if ended != nil {
		return driver.NoEffect(ended)
	}
	return err
}

// pollLatch reads a latch within the time of one step of waiting.
func (e *Engine) pollLatch(ctx context.Context, name string) (driver.LatchState, error) {
	return within(ctx, answerTimeout, func(ctx context.Context) (driver.LatchState, error) {
		return e.LatchState(ctx, name)
	})
}

// latchQuestion returns what a listing asks about a latch.
func (e *Engine) latchQuestion(k driver.Key) (*question, error) {
	name, err := e.latchName(k.Name)
	if _, refused := errors.AsType[*NameError](err); refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &question{newLatchState(latchKeys(name), true), func(answer any) (driver.Status, bool, error) {
		st, err := replies.Latch(answer, nil)
		if errors.Is(err, driver.ErrNotSet) {
			return driver.Status{}, false, nil
		}
		return driver.Status{Key: k, Latch: &st}, err == nil, err
	}}, nil
}
