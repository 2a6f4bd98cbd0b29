package postgres

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// maxTakeAll is the largest number of names in one step. Each costs the server the memory of one lock.
const maxTakeAll = 256

// TakeAll implements [driver.AllTaker]. It takes up to 256 names in one step.
func (e *Engine) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	if len(batch) > maxTakeAll {
		return nil, driver.ErrNotTogether
	}
	names, owners, holders := make([]string, len(batch)), make([]string, len(batch)), make([]string, len(batch))
	ttls, tokens := make([]time.Duration, len(batch)), make([]int32, len(batch))
	for i, r := range batch {
		names[i], owners[i], holders[i] = r.Name, r.Owner, r.Holder
		ttls[i], tokens[i] = roundUpMicros(r.TTL), int32(max(r.Tokens, 1))
	}
	var first []int64
	var granted []int32
	var open *time.Duration
	sent := driver.Now()
	err := e.ask(ctx, toLock, []any{&first, &granted, &open}, e.statements.takeAll,
		names, owners, ttls, tokens, holders, e.maxTTL, e.guard)
	switch {
	case err != nil:
		return nil, err
	case open != nil:
		return nil, newClosedError(*open).AsHeld()
	case len(first) != len(batch) || len(granted) != len(batch):
		return nil, driver.ErrHeld
	}
	grants := make([]driver.Grant, len(batch))
	for i := range batch {
		if grants[i], err = grantOf(first[i], int64(granted[i]), max(batch[i].Tokens, 1)); err != nil {
			return nil, err
		}
		grants[i].Start = sent
	}
	return grants, nil
}
