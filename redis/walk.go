package redis

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// namesPerRead is how many names are read at once.
const namesPerRead = 100

// walk calls visit with what matches the query, piece by piece, up to the query's limit.
func (e *Engine) walk(ctx context.Context, q driver.Query, visit func(piece []driver.Status) bool) error {
	q, repeat := repeatProgress(q)
	keys, err := e.keys(ctx, q)
	for err == nil && len(keys) > 0 && q.Limit > 0 {
		n := min(len(keys), namesPerRead, q.Limit)
		var piece []driver.Status
		piece, err = e.statuses(ctx, keys[:n], q)
		switch {
		case err != nil:
		case len(piece) == 0:
			repeat()
		case !visit(piece):
			return nil
		}
		keys, q.Limit = keys[n:], q.Limit-len(piece)
	}
	if err != nil {
		return reply.NoEffect(err)
	}
	return nil
}

// keys returns the sorted keys of all names that may be held, waited for or set.
func (e *Engine) keys(ctx context.Context, q driver.Query) ([]driver.Key, error) {
	if e.subscriptions.IsClosed() {
		return nil, errEngineClosed
	}
	if q.Name != "" {
		return paging.Keys(q), nil
	}
	var mu sync.Mutex
	found := map[driver.Key]struct{}{}
	err := e.search(ctx, q, func(_ context.Context, _ *redis.Tx, keys []string) error {
		mu.Lock()
		defer mu.Unlock()
		for _, key := range keys {
			if k, part, ok := parseKey(e.prefix, key); ok && part != partToken && paging.Matches(q, k) {
				found[k] = struct{}{}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(found), driver.Key.Compare), nil
}

// statuses returns the statuses of keys, and leaves out those without any. It asks for all at once, and again for those
// whose server has changed.
func (e *Engine) statuses(ctx context.Context, keys []driver.Key, q driver.Query) (page []driver.Status, _ error) {
	calls := make([]readCall, len(keys))
	for i, k := range keys {
		calls[i] = e.statusCall(k, firstPart(q.Queue))
	}
	answers, err := e.readNames(ctx, calls)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		st, err := e.status(ctx, k, q.Queue, calls[i], answers[i])
		if q.Name == "" && isDamaged(err) {
			continue // it cannot be taken either
		}
		if err != nil {
			return nil, err
		}
		if hasAnything(st) {
			page = append(page, st)
		}
	}
	return page, nil
}

// status reads the first answer about a name, and asks for the rest.
func (e *Engine) status(
	ctx context.Context, k driver.Key, queue bool, first readCall, answer any,
) (driver.Status, error) {
	var err error
	if answer == nil {
		answer, err = e.readName(ctx, first)
	}
	st, rest, err := readStatus(k, firstPart(queue), answer, err)
	for err == nil && rest != (statusPart{noPart, noPart}) {
		from := rest
		answer, err = e.readName(ctx, e.statusCall(k, from))
		var more driver.Status
		if more, rest, err = readStatus(k, from, answer, err); err == nil {
			mergeStatus(&st, more)
		}
		if len(st.Queue) >= st.Waiting { // do not wait for waiters that join meanwhile
			rest.waiters = noPart
		}
	}
	slices.SortFunc(st.Holders, func(a, b driver.Holder) int { return cmp.Compare(a.Token, b.Token) })
	return st, err
}

// readName reads one name.
func (e *Engine) readName(ctx context.Context, c readCall) (any, error) {
	return within(ctx, e, answerTimeout, func(ctx context.Context) (any, error) { return e.runReadOnly(ctx, c) })
}

// readNames reads many names at once. The answer is nil for a name whose server is unknown, or whose call failed.
func (e *Engine) readNames(ctx context.Context, calls []readCall) ([]any, error) {
	return within(ctx, e, answerTimeout, func(ctx context.Context) ([]any, error) {
		cmds := make([]*redis.Cmd, len(calls))
		_, _ = e.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each has its own error
			for i, c := range calls {
				srv := e.readRouter.cachedServer(c.names)
				if srv == nil {
					continue
				}
				by := e.readRouter.readCommandFor(c, srv)
				cmds[i] = newScriptCall(c.keys, c.args...).commandBy(ctx, by, srv.scripts, c.script).Cmd
				_ = p.Process(ctx, cmds[i])
			}
			return nil
		})
		answers := make([]any, len(calls))
		for i, cmd := range cmds {
			if cmd != nil && cmd.Err() == nil {
				answers[i] = cmd.Val()
			}
		}
		return answers, nil
	})
}
