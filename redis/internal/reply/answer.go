package reply

import (
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// Held reads the answer of a script that says 1 (held, or done) or 0.
func (e Engine) Held(answer any, err error) error {
	switch {
	case err != nil:
		return err
	case answer == int64(1):
		return nil
	case answer == int64(0):
		return driver.ErrNotHeld
	}
	return e.Unexpected
}

// Integers reads a list of at least that many integers.
func (e Engine) Integers(answer any, minCount int) ([]int64, error) {
	items, ok := answer.([]any)
	if !ok || len(items) < minCount {
		return nil, e.Unexpected
	}
	list := make([]int64, len(items))
	for i, item := range items {
		if list[i], ok = item.(int64); !ok {
			return nil, e.Unexpected
		}
	}
	return list, nil
}

// Latch reads the answer of a script that says 0 if a latch is not set, or {its generation, its count, milliseconds
// until it is forgotten, negative if it never is}.
func (e Engine) Latch(answer any, err error) (st driver.LatchState, _ error) {
	if err != nil {
		return st, err
	}
	if answer == int64(0) {
		return st, driver.ErrNotSet
	}
	items, ok := answer.([]any)
	if !ok || len(items) != 3 {
		return st, e.Unexpected
	}
	text, _ := items[0].(string)
	st.Generation, err = strconv.ParseUint(text, 10, 64)
	count, isCount := items[1].(int64)
	left, isLeft := items[2].(int64)
	if err != nil || !isCount || !isLeft || count < 0 {
		return driver.LatchState{}, e.Unexpected
	}
	st.Count, st.TTL = int(count), TTL(left)
	return st, nil
}

// Data reads the answer of a script that says {token, number, data}, or nothing of them if no data is stored.
func (e Engine) Data(answer any, err error) (d driver.Data, _ error) {
	if err != nil {
		return d, err
	}
	items, ok := answer.([]any)
	if !ok || len(items) != 3 {
		return d, e.Unexpected
	}
	value, _ := items[2].(string)
	if value == "" {
		return d, nil
	}
	token, _ := items[0].(string)
	number, _ := items[1].(string)
	if d.Token, err = strconv.ParseUint(token, 10, 64); err == nil {
		d.Number, err = strconv.ParseUint(number, 10, 64)
	}
	if err != nil {
		return driver.Data{}, e.Unexpected
	}
	d.Value = []byte(value)
	return d, nil
}

// TTL converts what is left of a lease or of a latch, in milliseconds, negative if it never ends: such a lease is a
// leak.
func TTL(ms int64) time.Duration {
	if ms < 0 {
		return driver.NoTTL
	}
	return luascript.Duration(ms)
}

// NoEffect marks the error of a request that had no effect, unless it is marked already: it may be a permanent one.
func NoEffect(err error) error {
	if driver.HadNoEffect(err) {
		return err
	}
	return driver.NoEffect(err)
}
