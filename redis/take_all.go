package redis

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

// mostAtOnce is how many locks one script takes at most. The server does nothing else meanwhile.
const mostAtOnce = 64

// TakeAll implements [driver.AllTaker], for up to 64 names. In a Cluster they must be in one slot, as names are that have the same text in
// braces: "{user:7}cart" and "{user:7}orders". Others are an ErrApart.
func (e *Engine) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	if len(batch) > mostAtOnce {
		return nil, driver.ErrApart
	}
	first, oneSlot := e.names(batch[0].Key), true
	keys := make([]string, 0, 2*len(batch))
	args := make([]any, 0, 4*len(batch)+2)
	for i := range batch {
		r := &batch[i]
		if err := checkOwner(r.Owner); err != nil {
			return nil, err
		}
		n := e.names(r.Key)
		oneSlot = oneSlot && n.slot() == first.slot()
		keys = append(keys, n.counted()...)
		args = append(args, r.Owner+"\n", millis(r.TTL), max(r.Tokens, 1), public(r.Holder)+"\n")
	}
	if !oneSlot {
		switch cluster, err := e.place.isCluster(ctx, first); {
		case err != nil:
			return nil, err
		case cluster:
			return nil, driver.ErrApart
		}
	}
	answer, _, err := e.runBy(ctx, e.confirmed, takeAll, first, flagged, newWords(keys, append(args, floor(), "")...))
	short, unconfirmed := errors.AsType[*shortfallError](err)
	if err != nil && !unconfirmed {
		return nil, err
	}
	grants, err := e.readAll(answer, batch)
	if err == nil && unconfirmed {
		return nil, e.undo(ctx, short, false, batch...)
	}
	return grants, err
}

// readAll reads the answer of the script.
func (e *Engine) readAll(answer any, batch []driver.Request) ([]driver.Grant, error) {
	if at, refused := answer.(int64); refused && 1 <= at && int(at) <= len(batch) {
		e.crowded.Add(batch[at-1].Key)
		return nil, driver.ErrHeld
	}
	list, err := integers(answer, 2*len(batch))
	if err != nil {
		return nil, err
	}
	grants := make([]driver.Grant, len(batch))
	for i := range grants {
		if grants[i], err = grantOf(list[2*i], list[2*i+1], batch[i]); err != nil {
			return nil, err
		}
	}
	return grants, nil
}
