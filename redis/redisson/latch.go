package redisson

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// A latch is an RCountDownLatch: a number that is gone at zero, and that lives until then. Programs in Java know no
// generations and no time to live, and not whether a latch at zero was ever set. What the contract of engines needs
// besides is in a hash beside, which ends a day after a program in Go has last set the latch or counted it down:
//
//   - A number without a hash has generation 0: a program in Java has set it, or nobody in Go has used it for a day.
//     A waiter for a generation whose hash has ended goes on waiting until the number is gone. If no hash is left
//     then, the latch is not set for programs in Go that come later, while those in Java take every latch that is not
//     set for one at zero.
//   - A latch that is set with a time to live of less than a day, the longest that there is, is gone when that has
//     passed. Programs in Java that wait are not notified of that, as the server sends no message for it, and then go
//     on as if it were at zero.
//   - A program in Java that sets a latch anew leaves the hash as it is. If the latch had a time to live, its
//     generation is over, as the new number has none. If it had none, nothing tells the two apart: a waiter that has
//     not looked in between waits for the new one, as programs in Java do.

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
		return call{latchStatus, keys[:3], []any{0, ""}}
	}))
}

// WaitLatch implements [driver.Latcher].
func (e *Engine) WaitLatch(ctx context.Context, name string, generation uint64) error {
	full, err := e.latchName(name)
	if err != nil {
		return err
	}
	last := driver.LatchState{Generation: generation, TTL: driver.NoTTL}
	ended := e.pollUntil(ctx, latchChannel(full), false, func() (again time.Duration, done bool) {
		var st driver.LatchState
		st, err = e.pollLatch(ctx, name, generation)
		switch {
		case errors.Is(err, driver.ErrNotSet) && last.Generation == 0 && last.TTL == driver.NoTTL:
			err = nil // there was only the number, without an end, so it is gone because it came down to zero
			return 0, true
		case err != nil:
			return 0, true
		}
		last = st
		// Generation 0 says that the hash is gone, which is no news of the count.
		return st.TTL, st.Count == 0 || st.Generation != generation && st.Generation != 0
	})
	if ended != nil {
		return driver.NoEffect(ended)
	}
	return err
}

// pollLatch reads a latch for one who waits for a generation, within the time of one step of waiting.
func (e *Engine) pollLatch(ctx context.Context, name string, generation uint64) (driver.LatchState, error) {
	return within(ctx, answerTimeout, func(ctx context.Context) (driver.LatchState, error) {
		return replies.Latch(e.runLatch(ctx, name, func(keys []string, _ string) call {
			return call{latchStatus, keys[:3], []any{0, strconv.FormatUint(generation, 10)}}
		}))
	})
}

// latchQuestion returns what a listing asks about a latch. One that programs in Go have not used looks like any number.
func (e *Engine) latchQuestion(k driver.Key) (*question, error) {
	name, err := e.latchName(k.Name)
	if _, refused := errors.AsType[*NameError](err); refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	used := call{latchStatus, latchKeys(name)[:3], []any{1, ""}}
	return &question{used, func(answer any) (driver.Status, bool, error) {
		st, err := replies.Latch(answer, nil)
		if errors.Is(err, driver.ErrNotSet) {
			return driver.Status{}, false, nil
		}
		return driver.Status{Key: k, Latch: &st}, err == nil, err
	}}, nil
}
