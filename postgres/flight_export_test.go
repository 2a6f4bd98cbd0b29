package postgres

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Together sends queries with one flight, and returns what each was answered: one value, in the binary format of the protocol.
func (e *Engine) Together(ctx context.Context, queries ...string) (values []string, errs []error) {
	var batch []*request
	for _, q := range queries {
		batch = append(batch, &request{query: q})
	}
	e.flights.send(ctx, batch)
	for _, r := range batch {
		value := ""
		if r.err == nil {
			value = string(r.row[0])
		}
		values, errs = append(values, value), append(errs, r.err)
	}
	return values, errs
}

// AtOnce tries takes and releases in one transaction, and returns the tokens of what was taken, or 0, whether what was released was held, and how many
// requests are left to be sent by themselves.
func (e *Engine) AtOnce(ctx context.Context, takes []driver.Request, releases []driver.Hold) (tokens []uint64, released []bool, left int) {
	var batch []*request
	for _, r := range takes {
		batch = append(batch, &request{errand: e.errandOfTake(r, nil)})
	}
	for _, h := range releases {
		batch = append(batch, &request{errand: e.errandOfRelease(h, nil)})
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		panic(err)
	}
	defer conn.Release()
	left = len(e.flights.atOnce(ctx, conn.Conn(), batch))
	for _, r := range batch[:len(takes)] {
		tokens = append(tokens, uint64(r.errand.token))
	}
	for _, r := range batch[len(takes):] {
		released = append(released, r.errand.done && r.errand.held)
	}
	return tokens, released, left
}

// GuardQuery is the query of a guard.
func GuardQuery(schema string) string { return guardQuery(schema) }

// Places returns how many flights there may be at a time.
func (e *Engine) Places() int { return e.flights.free }

// Waiting asks for a flight of which there is none, and returns how many wait for it when ctx has ended.
func Waiting(ctx context.Context) (left int, err error) {
	f := new(flights)
	err = f.ask(ctx, new(request))
	return len(f.queue), err
}

// Stopped asks for a flight of which there is none, until flights are stopped.
func Stopped(ctx context.Context) error {
	f := new(flights)
	context.AfterFunc(ctx, f.stop)
	return f.ask(context.WithoutCancel(ctx), new(request))
}

// Sleep asks for something that takes a minute, as others do.
func (e *Engine) Sleep(ctx context.Context) error {
	return e.flights.ask(ctx, &request{query: "SELECT pg_sleep(60) IS NULL"})
}
