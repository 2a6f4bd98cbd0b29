package redis

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// Sweep implements [driver.Sweeper]. It is one script, which looks first whether the leak is still what it was; only the places of more than a hundred dead
// waiters are removed in several steps. A token is not removed, but is given an end, so that tokens go on growing. Like a forced release it hands the lock to who
// waits next.
func (e *Engine) Sweep(ctx context.Context, l driver.Leak) error {
	part, mark, _ := strings.Cut(l.Mark, " ")
	word := leakWords[l.Sort]
	switch {
	case l.Name == "" || word == "":
		return driver.ErrNotHeld
	case l.Kind == driver.Latch && part == partLatch && l.Sort == driver.Remains:
		return noLeak(e.sweepLatch(ctx, l.Name, mark))
	case l.Kind != driver.Lock && l.Kind != driver.Semaphore:
		return driver.ErrNotHeld
	}
	switch part {
	case leakValue, partToken, partQueue, partHolders, partInfo:
		return noLeak(e.sweep(ctx, l.Key, part, word, mark))
	}
	return driver.ErrNotHeld
}

// sweep removes what was left behind in one key of a name.
func (e *Engine) sweep(ctx context.Context, k driver.Key, part, word, mark string) error {
	removed := int64(0)
	for from := fromStart; from != ""; {
		answer, err := e.run(ctx, sweepLeak, e.names(k), part, word, mark, from, partCount, floor(), removed)
		count, last, err := readStep(answer, err)
		switch {
		case err != nil && removed > 0: // it has had an effect, whatever the last request had
			return fmt.Errorf("after %d places of the queue were removed: %s", removed, err)
		case err != nil:
			return err
		}
		removed, from = removed+count, last
	}
	if removed == 0 {
		return driver.ErrNotHeld
	}
	return nil
}

// sweepLatch removes a latch that has no end.
func (e *Engine) sweepLatch(ctx context.Context, name, mark string) error {
	n := latchNames(e, name)
	publish, err := e.publish(ctx, n)
	if err != nil {
		return err
	}
	answer, err := e.ask(ctx, leakLatch, n, n.counted(), mark, publish)
	if err == nil && (mark == "" || answer != mark) {
		err = driver.ErrNotHeld
	}
	return err
}

// noLeak is the outcome of a sweep that has come upon a key of another program, and changed nothing.
func noLeak(err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return driver.ErrNotHeld
	}
	return err
}
