package redis

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// Sweep implements [driver.Operator]. One script checks that the leak is still the same, and removes it. Only the
// places of more than a hundred dead waiters are removed in several steps. A token is not removed, but gets an expiry,
// so that tokens keep growing. Like a forced release, a sweep hands the lock over to the next waiter.
func (e *Engine) Sweep(ctx context.Context, l driver.Leak) error {
	part, mark, _ := strings.Cut(l.Mark, " ")
	word := leakScriptWords[l.Sort]
	switch {
	case l.Name == "" || word == "":
		return driver.ErrNotHeld
	case l.Kind == driver.Latch && part == partLatch && l.Sort == driver.Remains:
		return sweepError(e.sweepLatch(ctx, l.Name, mark))
	case l.Kind != driver.Lock && l.Kind != driver.Semaphore:
		return driver.ErrNotHeld
	}
	switch part {
	case leakValue, partToken, partQueue, partHolders, partInfo:
		return sweepError(e.sweep(ctx, l.Key, part, word, mark))
	}
	return driver.ErrNotHeld
}

// sweep removes the leak in one key of a name.
func (e *Engine) sweep(ctx context.Context, k driver.Key, part, word, mark string) error {
	removed := int64(0)
	for from := fromStart; from != ""; {
		count, last, err := e.runPart(ctx, scriptLeakSweep, e.names(k), part, word, mark, from, partSize, floorArg(),
			removed)
		switch {
		case err != nil && removed > 0: // earlier steps have had an effect
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

// sweepLatch removes a latch that does not expire.
func (e *Engine) sweepLatch(ctx context.Context, name, mark string) error {
	n := latchNames(e, name)
	publish, err := e.publishCommand(ctx, n)
	if err != nil {
		return err
	}
	answer, err := e.runWithoutGrant(ctx, scriptLeakLatch, n, n.valueAndToken(), mark, publish)
	if err == nil && (mark == "" || answer != mark) {
		err = driver.ErrNotHeld
	}
	return err
}

// sweepError returns the error of a sweep. If it found another program's key and changed nothing, there was no leak.
func sweepError(err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return driver.ErrNotHeld
	}
	return err
}
