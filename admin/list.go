package admin

import (
	"context"
	"iter"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/holdertext"
)

// The parts of a listing. The owner, which is secret, never appears in it.
type (
	// Query says what to list.
	Query = driver.Query
	// Status is what is known of one name.
	Status = driver.Status
	// Holder is one holder of a name.
	Holder = driver.Holder
	// Waiter is one waiter for a name.
	Waiter = driver.Waiter
	// LatchState is the state of a latch.
	LatchState = driver.LatchState
)

// List returns the names that anybody holds or waits for, ordered by kind and then by name. It returns at most
// Query.Limit entries (1000 by default): for more, set Query.After to the Key of the last one, or use All.
func (c *Client) List(ctx context.Context, q Query) ([]Status, error) {
	if err := c.checkQuery(q); err != nil {
		return nil, err
	}
	return send(ctx, c, call{op: "list"}, func(ctx context.Context) ([]Status, error) { return c.engine.List(ctx, q) })
}

// checkQuery returns an error if the client or the query is not valid.
func (c *Client) checkQuery(q Query) error {
	switch {
	case c.err != nil:
		return c.err
	case q.Limit < 0:
		return newValueError("limit", q.Limit, "0 (for 1000) or more")
	case q.Kind > driver.Latch:
		return newValueError("kind", q.Kind, "driver.Lock, driver.Semaphore, driver.Latch, or 0 for all")
	}
	return nil
}

// Inspect returns everything about one name, including the queue: one entry for each kind in which somebody holds it or
// waits for it, and none if it is free.
func (c *Client) Inspect(ctx context.Context, name string) ([]Status, error) {
	if c.err != nil {
		return nil, c.err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	return c.List(ctx, Query{Name: name, Queue: true})
}

// All yields everything that the query matches, in the order of List, whatever its Limit. It asks the engine for more
// as the caller goes on, and ends after the first error. Names that come or go meanwhile may be missed or reported; a
// name that exists all the time is reported once.
//
// Some engines have to search for names. There, All searches once, whereas List searches for each page, and
// Query.Progress is told how far the search is.
func (c *Client) All(ctx context.Context, q Query) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		if err := c.checkQuery(q); err != nil {
			yield(Status{}, err)
			return
		}
		q := q
		q.Limit = 0
		if !c.abilities.Walk {
			c.listPages(ctx, q, yield)
			return
		}
		stream(ctx, call{op: "list"}, yield, func(ctx context.Context, visit func(Status) bool) error {
			return c.operator.Walk(ctx, q, func(piece []Status) bool {
				for _, s := range piece {
					if !visit(s) {
						return false
					}
				}
				return true
			})
		})
	}
}

// listPages yields a listing page by page.
func (c *Client) listPages(ctx context.Context, q Query, yield func(Status, error) bool) {
	for {
		page, err := c.List(ctx, q)
		if err != nil {
			yield(Status{}, err)
			return
		}
		for _, s := range page {
			if !yield(s, nil) {
				return
			}
		}
		if len(page) == 0 {
			return
		}
		q.After = page[len(page)-1].Key
	}
}

// Process describes the process that holds a lock, as its holder text tells: Host, PID, Program, and the Label of the
// lock if it has one. String returns the holder text.
type Process = holdertext.Process

// ParseHolder parses a holder text. ok is false if the text was set with leasehold.WithHolder or written by another
// program.
func ParseHolder(text string) (p Process, ok bool) { return holdertext.Parse(text) }
