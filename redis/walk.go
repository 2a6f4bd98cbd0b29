package redis

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// lookCount is how many names are looked at in one go.
const lookCount = 100

// walk tells what the query matches, piece by piece, and no more than its limit.
func (e *Engine) walk(ctx context.Context, q driver.Query, visit func(piece []driver.Status) bool) error {
	q, again := repeating(q)
	keys, err := e.keys(ctx, q)
	for err == nil && len(keys) > 0 && q.Limit > 0 {
		n := min(len(keys), lookCount, q.Limit)
		var piece []driver.Status
		piece, err = e.statuses(ctx, keys[:n], q)
		switch {
		case err != nil:
		case len(piece) == 0:
			again()
		case !visit(piece):
			return nil
		}
		keys, q.Limit = keys[n:], q.Limit-len(piece)
	}
	if err != nil {
		return noEffect(err)
	}
	return nil
}

// keys returns what may be held, waited for or set, in order.
func (e *Engine) keys(ctx context.Context, q driver.Query) ([]driver.Key, error) {
	if e.ears.closed() {
		return nil, errClosed
	}
	if q.Name != "" {
		var keys []driver.Key
		for _, kind := range driver.Kinds {
			if k := (driver.Key{Kind: kind, Name: q.Name}); matches(q, k) {
				keys = append(keys, k)
			}
		}
		return keys, nil
	}
	var mu sync.Mutex
	found := map[driver.Key]struct{}{}
	err := e.search(ctx, q, func(_ context.Context, _ *redis.Tx, keys []string) error {
		mu.Lock()
		defer mu.Unlock()
		for _, key := range keys {
			if k, part, ok := parseKey(e.prefix, key); ok && part != partToken && matches(q, k) {
				found[k] = struct{}{}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	keys := make([]driver.Key, 0, len(found))
	for k := range found {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, driver.Key.Compare)
	return keys, nil
}

// matches reports whether a query is about a key.
func matches(q driver.Query, k driver.Key) bool {
	return (q.Kind == 0 || q.Kind == k.Kind) && (q.Name == "" || q.Name == k.Name) && strings.HasPrefix(k.Name, q.Prefix) && k.Compare(q.After) > 0
}

// statuses reports what is known of some keys, and leaves out those of which nothing is. It looks at all in one go, and again at
// those whose server is not, or no more, the one that was thought.
func (e *Engine) statuses(ctx context.Context, keys []driver.Key, q driver.Query) (page []driver.Status, _ error) {
	looks := make([]glance, len(keys))
	for i, k := range keys {
		looks[i] = e.lookAt(k, firstPart(q.Queue))
	}
	answers, err := e.lookAtAll(ctx, looks)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		st, err := e.status(ctx, k, q.Queue, looks[i], answers[i])
		if q.Name == "" && isBroken(err) {
			continue // it cannot be taken either
		}
		if err != nil {
			return nil, err
		}
		if isSomething(st) {
			page = append(page, st)
		}
	}
	return page, nil
}

// status reads the first answer about a name, and asks for the rest.
func (e *Engine) status(ctx context.Context, k driver.Key, queue bool, first glance, answer any) (driver.Status, error) {
	var err error
	if answer == nil {
		answer, err = e.look(ctx, first)
	}
	st, rest, err := readStatus(k, firstPart(queue), answer, err)
	for err == nil && rest != (part{notAtAll, notAtAll}) {
		from := rest
		answer, err = e.look(ctx, e.lookAt(k, from))
		var more driver.Status
		if more, rest, err = readStatus(k, from, answer, err); err == nil {
			add(&st, more)
		}
		if len(st.Queue) >= st.Waiting { // who joins meanwhile is not waited for
			rest.waiters = notAtAll
		}
	}
	slices.SortFunc(st.Holders, func(a, b driver.Holder) int { return cmp.Compare(a.Token, b.Token) })
	return st, err
}

// look looks at one name.
func (e *Engine) look(ctx context.Context, l glance) (any, error) {
	return within(ctx, lookLimit, func(ctx context.Context) (any, error) { return e.peek(ctx, l) })
}

// lookAtAll looks at many names in one go. It has no answer, nil, for those of which it was not clear where they are, and for those that
// were answered with an error.
func (e *Engine) lookAtAll(ctx context.Context, looks []glance) ([]any, error) {
	return within(ctx, lookLimit, func(ctx context.Context) ([]any, error) {
		cmds := make([]*redis.Cmd, len(looks))
		_, _ = e.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each has its own error
			for i, l := range looks {
				on := e.sights.guess(l.names)
				if on == nil {
					continue
				}
				cmds[i] = newWords(l.keys, l.args...).send(ctx, e.sights.command(l, on), on.program, l.script).Cmd
				_ = p.Process(ctx, cmds[i])
			}
			return nil
		})
		answers := make([]any, len(looks))
		for i, cmd := range cmds {
			if cmd != nil && cmd.Err() == nil {
				answers[i] = cmd.Val()
			}
		}
		return answers, nil
	})
}
