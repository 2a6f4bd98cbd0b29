package postgres

import (
	"context"
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
