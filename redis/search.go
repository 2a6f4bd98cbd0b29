package redis

import (
	"context"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// scanCount is how many keys a server looks at in one step of a search. It keeps the server from doing anything else for about half a millisecond.
const scanCount = 500

// search goes through the keys of all masters, in small steps (SCAN).
type search struct {
	place   *place
	pattern string
	// each takes in keys, and has a connection to the server that keeps them. There is a goroutine for each master that calls it.
	each func(ctx context.Context, tx *redis.Tx, keys []string) error

	searched atomic.Int64  // how many keys have been looked at, about
	steps    chan struct{} // has something in it after each step
}

// search calls each with all keys that may belong to names that a query matches, some of them more than once, and returns soon after ctx
// ends or a server is silent. Calls may then still go on: so what each collects counts only if there is no error.
func (e *Engine) search(ctx context.Context, q driver.Query, each func(ctx context.Context, tx *redis.Tx, keys []string) error) error {
	s := &search{place: &e.sights, pattern: "*" + escape(e.prefix+q.Prefix) + "*", each: each, steps: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.run(ctx, e.names(driver.Key{Kind: driver.Lock, Name: q.Prefix + "any"})) }() // a user may be let to look at these names alone
	silent := time.NewTimer(lookLimit)
	defer silent.Stop()
	for {
		select {
		case <-s.steps:
			if q.Progress != nil {
				q.Progress(int(s.searched.Load()))
			}
			silent.Reset(lookLimit)
		case err := <-done:
			return err
		case <-silent.C:
			return errNoAnswer
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run searches.
func (s *search) run(ctx context.Context, any names) error {
	switch cluster, err := s.place.isCluster(ctx, any); {
	case err != nil:
		return err
	case cluster:
		return s.rounds(ctx)
	}
	return explain(s.place.client.Watch(ctx, func(tx *redis.Tx) error { return s.scan(ctx, tx) }))
}

// scan goes through the keys of one server. It keeps its connection: on another server, the cursor would mean something else.
func (s *search) scan(ctx context.Context, tx *redis.Tx) error {
	for cursor := uint64(0); ; {
		next, err := s.step(ctx, tx, cursor)
		if err != nil {
			return err
		}
		select {
		case s.steps <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

func (s *search) step(ctx context.Context, tx *redis.Tx, cursor uint64) (next uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	keys, next, err := tx.Scan(ctx, cursor, s.pattern, scanCount).Result()
	if err != nil {
		return 0, err
	}
	if next != 0 {
		s.searched.Add(scanCount)
	} else {
		s.searched.Add(int64(len(keys)))
	}
	if len(keys) > 0 {
		err = s.each(ctx, tx, keys)
	}
	return next, err
}

// repeating returns the query, and what tells its Progress again what it was told last: so one hears that a search goes on also while names are looked
// at of which there is nothing to tell.
func repeating(q driver.Query) (_ driver.Query, again func()) {
	tell, last := q.Progress, -1
	if tell == nil {
		return q, func() {}
	}
	q.Progress = func(searched int) {
		last = searched
		tell(searched)
	}
	return q, func() {
		if last >= 0 {
			tell(last)
		}
	}
}

var special = regexp.MustCompile(`[\\*?\[\]^-]`)

// escape makes a pattern that matches a text and nothing else.
func escape(text string) string { return special.ReplaceAllString(text, `\$0`) }
