package redis

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// Leaks implements [driver.Operator]. It searches all servers, in small steps (SCAN, PTTL), for queues and for keys
// that will not expire by themselves, and then checks each of these.
func (e *Engine) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	q.After = driver.Key{}
	q, repeat := repeatProgress(q)
	all, err := e.findCandidates(ctx, q)
	for err == nil && len(all) > 0 {
		n := min(len(all), namesPerRead)
		var found []driver.Leak
		if found, err = e.checkCandidates(ctx, all[:n]); err != nil {
			break
		}
		if len(found) == 0 {
			repeat()
		}
		for _, l := range found {
			if !visit(l) {
				return nil
			}
		}
		all = all[n:]
	}
	if err != nil {
		return reply.NoEffect(err)
	}
	return nil
}

// leakCandidate is a key that may be a leak.
type leakCandidate struct {
	driver.Key
	part string // as the leak scripts call it
}

// leakValue is what the leak scripts call the value of a lock or semaphore.
const leakValue = "value"

// candidateOf returns the candidate for one key of a name. Locks and semaphores share the words for the parts.
func candidateOf(k driver.Key, part string) leakCandidate {
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
	return leakCandidate{k, part}
}

// findCandidates returns the keys that may be leaks.
func (e *Engine) findCandidates(ctx context.Context, q driver.Query) (all []leakCandidate, _ error) {
	if e.subscriptions.IsClosed() {
		return nil, errEngineClosed
	}
	if q.Name != "" {
		for _, c := range []leakCandidate{
			{driver.Key{Kind: driver.Lock}, leakValue}, {driver.Key{Kind: driver.Lock}, partToken},
			{driver.Key{Kind: driver.Lock}, partQueue},
			{driver.Key{Kind: driver.Lock}, partHolders}, {driver.Key{Kind: driver.Lock}, partInfo},
			{driver.Key{Kind: driver.Semaphore}, leakValue}, {driver.Key{Kind: driver.Semaphore}, partQueue},
			{driver.Key{Kind: driver.Semaphore}, partHolders}, {driver.Key{Kind: driver.Semaphore}, partInfo},
			{driver.Key{Kind: driver.Latch}, partLatch},
		} {
			if c.Name = q.Name; paging.Matches(q, c.Key) {
				all = append(all, c)
			}
		}
		return all, nil
	}
	var mu sync.Mutex
	known := map[leakCandidate]struct{}{} // a search may find a key twice
	err := e.search(ctx, q, func(ctx context.Context, tx *redis.Tx, keys []string) error {
		found, err := e.filterLasting(ctx, tx, q, keys)
		mu.Lock()
		defer mu.Unlock()
		for _, c := range found {
			if _, twice := known[c]; !twice {
				known[c] = struct{}{}
				all = append(all, c)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// filterLasting returns the keys that do not expire, or too late, and all queues: a queue that expires may still hold
// dead waiters.
func (e *Engine) filterLasting(
	ctx context.Context, tx *redis.Tx, q driver.Query, keys []string,
) (all []leakCandidate, _ error) {
	var asked []leakCandidate
	var ends []*redis.DurationCmd
	_, _ = tx.Pipelined(ctx, func(p redis.Pipeliner) error { // each has its own error
		for _, key := range keys {
			k, part, ok := parseKey(e.prefix, key)
			if !ok || !paging.Matches(q, k) {
				continue
			}
			if c := candidateOf(k, part); c.part == partQueue {
				all = append(all, c)
			} else {
				asked, ends = append(asked, c), append(ends, p.PTTL(ctx, key))
			}
		}
		return nil
	})
	for i, c := range asked {
		left, err := ends[i].Result()
		if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
			return nil, err
		}
		// If the key is moving, its server may not answer. The candidate is then checked by a script.
		if err != nil || left == -1 || c.part == partToken && left > e.retention {
			all = append(all, c)
		}
	}
	return all, nil
}

// checkCandidates returns those candidates that are leaks. It asks for all at once, and again for those whose server
// has changed.
func (e *Engine) checkCandidates(ctx context.Context, candidates []leakCandidate) (found []driver.Leak, _ error) {
	calls := make([]readCall, len(candidates))
	for i, c := range candidates {
		calls[i] = e.leakCall(c, fromStart)
	}
	answers, err := e.readNames(ctx, calls)
	if err != nil {
		return nil, err
	}
	for i, c := range candidates {
		l, err := e.collectLeak(ctx, c, calls[i], answers[i])
		if isDamaged(err) {
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
