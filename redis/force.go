package redis

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// ForceRelease implements [driver.Operator]. Token 0 stands for a holder of another kind of client. Shared holders are
// searched in several steps if there are many.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	for from := fromStart; from != ""; {
		found, last, err := e.runPart(ctx, scriptForce, e.names(k), token, from, partSize, floorArg())
		if err != nil || found > 0 {
			return err
		}
		from = last
	}
	return driver.ErrNotHeld
}

// runPart runs a script that goes through a list in steps, and may hand over. It returns how many entries it found, and
// after which one the next step begins, or nothing after the last step.
func (e *Engine) runPart(ctx context.Context, s script, n redisKeys, args ...any) (found int64, last string, _ error) {
	answer, err := e.run(ctx, s, n, args...)
	found, last, unfinished, err := readPartReply(answer, err)
	if unfinished {
		e.finishHandOver(ctx, n)
	}
	return found, last, err
}

func readPartReply(answer any, err error) (found int64, last string, unfinished bool, _ error) {
	if err != nil {
		return 0, "", false, err
	}
	items, _ := answer.([]any)
	if len(items) != 3 {
		return 0, "", false, errReply
	}
	found, isCount := items[0].(int64)
	last, isText := items[1].(string)
	if !isCount || !isText {
		return 0, "", false, errReply
	}
	return found, last, items[2] == int64(1), nil
}
