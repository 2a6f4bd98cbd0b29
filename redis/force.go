package redis

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// ForceRelease implements [driver.Operator]. Token 0 stands for a holder of another kind of client. Shared holders are
// searched in several steps if there are many.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	for from := fromStart; from != ""; {
		answer, err := e.run(ctx, scriptForce, e.names(k), token, from, partSize, floorArg())
		found, last, err := readPartReply(answer, err)
		if err != nil || found > 0 {
			return err
		}
		from = last
	}
	return driver.ErrNotHeld
}

// readPartReply reads the answer of a script that goes through a list in steps: how many entries it found, and after
// which one the next step begins, or nothing after the last step.
func readPartReply(answer any, err error) (found int64, last string, _ error) {
	if err != nil {
		return 0, "", err
	}
	items, _ := answer.([]any)
	if len(items) != 2 {
		return 0, "", errReply
	}
	found, isCount := items[0].(int64)
	last, isText := items[1].(string)
	if !isCount || !isText {
		return 0, "", errReply
	}
	return found, last, nil
}
