package redis

import (
	"context"
	"strconv"

	"github.com/leasehold-go/leasehold/driver"
)

// Raise implements [driver.Raiser].
func (e *Engine) Raise(ctx context.Context, r driver.Raise) error {
	if err := checkOwner(r.Owner); err != nil {
		return err
	}
	n := e.names(r.Key)
	first, last := strconv.FormatUint(r.Token, 10), strconv.FormatUint(r.Token+uint64(r.Tokens)-1, 10)
	call := newScriptCall(n.valueAndToken(), r.Owner, first, last, r.Tokens)
	return readHeld(inTime(ctx, e, func(ctx context.Context) (any, error) {
		answer, _, err := e.runScript(ctx, e.runConfirmed, scriptRaise, n, neverGrants, call)
		return answer, err
	}, nil))
}

// floorArg returns the smallest token that may be granted now, for the scripts.
func floorArg() string { return strconv.FormatInt(nowMicros(), 10) }

// tokenFloor returns the smallest token that may be granted to a request.
func tokenFloor(r driver.Request) int64 {
	if r.Floor != 0 {
		return int64(r.Floor)
	}
	return nowMicros()
}
