package redis

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// Leaks implements [driver.Sweeper]. It searches the keys of all servers for those that will not end by themselves, and for queues, in small steps
// (SCAN, PTTL), and then looks at each of these.
func (e *Engine) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	q.After = driver.Key{}
	q, again := repeating(q)
	all, err := e.suspects(ctx, q)
	for err == nil && len(all) > 0 {
		n := min(len(all), lookCount)
		var found []driver.Leak
		if found, err = e.leaksOf(ctx, all[:n]); err != nil {
			break
		}
		if len(found) == 0 {
			again()
		}
		for _, l := range found {
			if !visit(l) {
				return nil
			}
		}
		all = all[n:]
	}
	if err != nil {
		return noEffect(err)
	}
	return nil
}

// suspect is a key that may have been left behind.
type suspect struct {
	driver.Key
	part string // one of the parts below
}

// What the scripts call the parts of a name, for locks and semaphores alike.
const leakValue = "value"

// suspectOf says what a part of a name is called where leaks are looked for.
func suspectOf(k driver.Key, part string) suspect {
	switch part {
	case "", partPermits:
		part = leakValue
	case partPermitsQueue:
		part = partQueue
	case partPermitsHolders:
		part = partHolders
	case partPermitsInfo:
		part = partInfo
	}
	return suspect{k, part}
}

// suspects returns the keys that may have been left behind.
func (e *Engine) suspects(ctx context.Context, q driver.Query) (all []suspect, _ error) {
	if e.ears.closed() {
		return nil, errClosed
	}
	if q.Name != "" {
		for _, s := range []suspect{
			{driver.Key{Kind: driver.Lock}, leakValue}, {driver.Key{Kind: driver.Lock}, partToken}, {driver.Key{Kind: driver.Lock}, partQueue},
			{driver.Key{Kind: driver.Lock}, partHolders}, {driver.Key{Kind: driver.Lock}, partInfo},
			{driver.Key{Kind: driver.Semaphore}, leakValue}, {driver.Key{Kind: driver.Semaphore}, partQueue},
			{driver.Key{Kind: driver.Semaphore}, partHolders}, {driver.Key{Kind: driver.Semaphore}, partInfo},
			{driver.Key{Kind: driver.Latch}, partLatch},
		} {
			if s.Name = q.Name; matches(q, s.Key) {
				all = append(all, s)
			}
		}
		return all, nil
	}
	var mu sync.Mutex
	known := map[suspect]struct{}{} // a search may come across a key twice
	err := e.search(ctx, q, func(ctx context.Context, tx *redis.Tx, keys []string) error {
		found, err := e.lasting(ctx, tx, q, keys)
		mu.Lock()
		defer mu.Unlock()
		for _, s := range found {
			if _, twice := known[s]; !twice {
				known[s] = struct{}{}
				all = append(all, s)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// lasting returns those of some keys that have no end, or one that is too late, and all queues: places in them may be left behind although they have.
func (e *Engine) lasting(ctx context.Context, tx *redis.Tx, q driver.Query, keys []string) (all []suspect, _ error) {
	var asked []suspect
	var ends []*redis.DurationCmd
	_, _ = tx.Pipelined(ctx, func(p redis.Pipeliner) error { // each has its own error
		for _, key := range keys {
			k, part, ok := parseKey(e.prefix, key)
			if !ok || !matches(q, k) {
				continue
			}
			if s := suspectOf(k, part); s.part == partQueue {
				all = append(all, s)
			} else {
				asked, ends = append(asked, s), append(ends, p.PTTL(ctx, key))
			}
		}
		return nil
	})
	for i, s := range asked {
		left, err := ends[i].Result()
		if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
			return nil, err
		}
		// A server that has no answer, because the key is on its way to another one, is asked again in another way.
		if err != nil || left == -1 || s.part == partToken && left > e.retention {
			all = append(all, s)
		}
	}
	return all, nil
}

// leaksOf looks at suspects, and returns those that are leaks. It looks at all in one go, and again at those whose server is not, or no more, the one
// that was thought.
func (e *Engine) leaksOf(ctx context.Context, suspects []suspect) (found []driver.Leak, _ error) {
	looks := make([]glance, len(suspects))
	for i, s := range suspects {
		looks[i] = e.glanceAt(s, fromStart)
	}
	answers, err := e.lookAtAll(ctx, looks)
	if err != nil {
		return nil, err
	}
	for i, s := range suspects {
		l, err := e.leakOf(ctx, s, looks[i], answers[i])
		if isBroken(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if l.Count > 0 {
			found = append(found, l)
		}
	}
	return found, nil
}
