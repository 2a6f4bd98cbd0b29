package redis

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/keypattern"
)

// scanCount is how many keys a server looks through in one step of a search. During a step it does nothing else for
// about half a millisecond.
const scanCount = 500

// keySearch goes through the keys of all masters, in small steps (SCAN).
type keySearch struct {
	router  *router
	pattern string
	// onKeys takes keys, with a connection to the server that has them. One goroutine for each master calls it.
	onKeys func(ctx context.Context, tx *redis.Tx, keys []string) error

	keyCount atomic.Int64  // roughly how many keys were searched
	progress chan struct{} // receives after each step
}

// search calls each with all keys that may belong to names that match a query, some of them more than once. It returns
// soon after ctx ends or a server stops answering. Calls of each may then still go on, so what they collect counts only
// if there is no error.
func (e *Engine) search(
	ctx context.Context, q driver.Query, each func(ctx context.Context, tx *redis.Tx, keys []string) error,
) error {
	s := &keySearch{
		router: &e.readRouter, onKeys: each, progress: make(chan struct{}),
		pattern: "*" + keypattern.Escape(e.prefix+q.Prefix) + "*",
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	// The user's rights may be limited to these names.
	go func() { done <- s.run(ctx, e.names(driver.Key{Kind: driver.Lock, Name: q.Prefix + "any"})) }()
	silent := time.NewTimer(answerTimeout)
	defer silent.Stop()
	for {
		select {
		case <-s.progress:
			if q.Progress != nil {
				q.Progress(int(s.keyCount.Load()))
			}
			silent.Reset(answerTimeout)
		case err := <-done:
			return err
		case <-silent.C:
			return errNoAnswer
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run searches all servers.
func (s *keySearch) run(ctx context.Context, any redisKeys) error {
	switch cluster, err := s.router.askIsCluster(ctx, any); {
	case err != nil:
		return err
	case cluster:
		return s.searchMasters(ctx)
	}
	return explainError(s.router.client.Watch(ctx, func(tx *redis.Tx) error { return s.scan(ctx, tx) }))
}

// scan goes through the keys of one server. It stays on one connection: on another server, the cursor would mean
// something else.
func (s *keySearch) scan(ctx context.Context, tx *redis.Tx) error {
	for cursor := uint64(0); ; {
		next, err := s.step(ctx, tx, cursor)
		if err != nil {
			return err
		}
		select {
		case s.progress <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

func (s *keySearch) step(ctx context.Context, tx *redis.Tx, cursor uint64) (next uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	keys, next, err := tx.Scan(ctx, cursor, s.pattern, scanCount).Result()
	if err != nil {
		return 0, err
	}
	if next != 0 {
		s.keyCount.Add(scanCount)
	} else {
		s.keyCount.Add(int64(len(keys)))
	}
	if len(keys) > 0 {
		err = s.onKeys(ctx, tx, keys)
	}
	return next, err
}

// repeatProgress returns the query, and a function that repeats the last call of its Progress. So the caller sees that
// a search goes on even while it only reads names that have nothing to report.
func repeatProgress(q driver.Query) (_ driver.Query, repeat func()) {
	report, last := q.Progress, -1
	if report == nil {
		return q, func() {}
	}
	q.Progress = func(searched int) {
		last = searched
		report(searched)
	}
	return q, func() {
		if last >= 0 {
			report(last)
		}
	}
}
