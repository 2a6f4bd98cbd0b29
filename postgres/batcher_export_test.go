package postgres

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Together sends queries in one batch, and returns the answers: one value each, in the binary format of the protocol.
func (e *Engine) Together(ctx context.Context, queries ...string) (values []string, errs []error) {
	var batch []*request
	for _, q := range queries {
		batch = append(batch, &request{query: q})
	}
	e.batcher.send(ctx, batch)
	for _, r := range batch {
		value := ""
		if r.err == nil {
			value = string(r.row[0])
		}
		values, errs = append(values, value), append(errs, r.err)
	}
	return values, errs
}

// AtOnce tries takes and releases in one transaction. It returns the token of each take or 0, whether each release
// found the owner holding, and how many requests still have to be sent by themselves.
func (e *Engine) AtOnce(
	ctx context.Context, takes []driver.Request, releases []driver.Hold,
) (tokens []uint64, released []bool, left int) {
	var batch []*request
	for _, r := range takes {
		batch = append(batch, &request{atOnce: takeAtOnce(r, nil, 0, e.isProbablyHeld(r))})
	}
	for _, h := range releases {
		batch = append(batch, &request{atOnce: releaseAtOnce(h, nil, e.wanted.Has(h.Key))})
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		panic(err)
	}
	defer conn.Release()
	left = len(e.batcher.runAtOnce(ctx, conn.Conn(), batch))
	for _, r := range batch[:len(takes)] {
		tokens = append(tokens, uint64(r.atOnce.token))
	}
	for _, r := range batch[len(takes):] {
		released = append(released, r.atOnce.done && r.atOnce.held)
	}
	return tokens, released, left
}

// ShutAtOnce tries releases to waiters, and joins of names that are known to be held, in one transaction. It returns
// the error of each join, nil if it was not done, whether each release was done, and how many requests still have to be
// sent by themselves.
func (e *Engine) ShutAtOnce(
	ctx context.Context, releases []driver.Hold, joins []driver.Request,
) (refused []error, released []bool, left int) {
	listener, err := e.subscription.subscribe(ctx)
	if err != nil {
		panic(err)
	}
	var batch []*request
	for _, h := range releases {
		batch = append(batch, &request{atOnce: releaseAtOnce(h, nil, true)})
	}
	for _, r := range joins {
		w, _ := e.waiters.add(r.Owner, r.Key)
		batch = append(batch, &request{atOnce: takeAtOnce(r, w, listener, true)})
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		panic(err)
	}
	defer conn.Release()
	left = len(e.batcher.runAtOnce(ctx, conn.Conn(), batch))
	for i, r := range batch {
		switch {
		case i < len(releases):
			released = append(released, r.atOnce.done)
		case r.atOnce.done:
			w := e.waiters.findOwner(r.atOnce.owner)
			w.noteRefused(driver.Now(), r.atOnce.refusal, false)
			refused = append(refused, r.atOnce.refusal.refusalError(true))
		default:
			refused = append(refused, nil)
		}
	}
	return refused, released, left
}

// GuardQuery is the query of a guard.
func GuardQuery(schema string) string { return guardQuery(schema) }

// MaxSenders returns how many batches may be in flight without being slow.
func (e *Engine) MaxSenders() int { return e.batcher.MaxSenders }

// Sleep sends a request that takes a minute.
func (e *Engine) Sleep(ctx context.Context) error {
	return e.batcher.ask(ctx, &request{query: "SELECT pg_sleep(60) IS NULL"})
}
