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
	answer, _, err := e.runBy(ctx, e.confirmed, raise, n, never, newWords(n.counted(), r.Owner, first, last, r.Tokens))
	return yes(answer, err)
}

// floor is the least token that may be granted now.
func floor() string { return strconv.FormatInt(micros(), 10) }

// least is the least token for a request.
func least(r driver.Request) int64 {
	if r.Floor != 0 {
		return int64(r.Floor)
	}
	return micros()
}
