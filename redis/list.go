package redis

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

const (
	// defaultLimit is how many entries a listing has unless the query says otherwise.
	defaultLimit = 1000
	// scanCount is how many keys a server looks at in one step of a listing.
	scanCount = 1000
	// lookCount is how many names are looked at in one go.
	lookCount = 100
)

// List implements [driver.Engine]. It goes through the keys of all servers in small steps (SCAN), so it takes as long as there are
// keys, and its entries need not have existed at one moment.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	if e.ears.closed() {
		return nil, errClosed
	}
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	// What it sends cannot be left alone when ctx ends, but all of it can.
	page, err := within(ctx, math.MaxInt64, func(ctx context.Context) ([]driver.Status, error) { return e.list(ctx, q) })
	if err != nil {
		return nil, noEffect(err)
	}
	return page, nil
}

func (e *Engine) list(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	keys, err := e.keys(ctx, q)
	if err != nil {
		return nil, err
	}
	var page []driver.Status
	for len(keys) > 0 && len(page) < q.Limit {
		n := min(len(keys), lookCount, q.Limit-len(page))
		found, err := e.statuses(ctx, keys[:n], q)
		if err != nil {
			return nil, err
		}
		page, keys = append(page, found...), keys[n:]
	}
	return page, nil
}

// keys returns what may be held, waited for or set, in order.
func (e *Engine) keys(ctx context.Context, q driver.Query) ([]driver.Key, error) {
	kinds := driver.Kinds[:]
	if q.Kind != 0 {
		kinds = []driver.Kind{q.Kind}
	}
	matches := func(k driver.Key) bool {
		return slices.Contains(kinds, k.Kind) && k.Compare(q.After) > 0 && strings.HasPrefix(k.Name, q.Prefix) && (q.Name == "" || k.Name == q.Name)
	}
	var keys []driver.Key
	if q.Name != "" {
		for _, kind := range kinds {
			if k := (driver.Key{Kind: kind, Name: q.Name}); matches(k) {
				keys = append(keys, k)
			}
		}
		return keys, nil
	}
	var mu sync.Mutex
	found := map[driver.Key]struct{}{}
	err := e.scan(ctx, "*"+escape(e.prefix+q.Prefix)+"*", func(key string) {
		k, part, ok := parseKey(e.prefix, key)
		if !ok || part == partToken || !matches(k) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		found[k] = struct{}{}
	})
	if err != nil {
		return nil, err
	}
	for k := range found {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, driver.Key.Compare)
	return keys, nil
}

var special = regexp.MustCompile(`[\\*?\[\]^-]`)

// escape makes a pattern that matches a text and nothing else.
func escape(text string) string { return special.ReplaceAllString(text, `\$0`) }

// scan calls f with the keys of all masters that match a pattern.
func (e *Engine) scan(ctx context.Context, pattern string, f func(key string)) error {
	each := func(c redis.Cmdable) error {
		for cursor := uint64(0); ; {
			keys, next, err := c.Scan(ctx, cursor, pattern, scanCount).Result()
			if err != nil {
				return err
			}
			for _, key := range keys {
				f(key)
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	}
	switch cluster, err := e.place.isCluster(ctx, e.names(driver.Key{Kind: driver.Lock, Name: "any"})); {
	case err != nil:
		return err
	case cluster:
		return e.place.eachMaster(ctx, func(tx *redis.Tx) error { return each(tx) })
	}
	return explain(each(e.client))
}

// statuses reports what is known of some keys, and leaves out those of which nothing is. It looks at all in one go, and again at
// those whose server is not, or no more, the one that was thought.
func (e *Engine) statuses(ctx context.Context, keys []driver.Key, q driver.Query) ([]driver.Status, error) {
	cmds := make([]*redis.Cmd, len(keys))
	_, _ = e.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each has its own error
		for i, k := range keys {
			l := e.lookAt(k, q.Queue)
			if on := e.place.guess(l.names); on != nil {
				cmds[i] = p.EvalSha(ctx, on.program.sha[l.script], l.keys, l.args...)
			}
		}
		return nil
	})
	var page []driver.Status
	for i, k := range keys {
		var answer any
		var err error
		if cmd := cmds[i]; cmd != nil && cmd.Err() == nil {
			answer = cmd.Val()
		} else {
			l := e.lookAt(k, q.Queue)
			answer, err = e.ask(ctx, l.script, l.names, l.keys, l.args...)
		}
		st, ok, err := readStatus(k, answer, err)
		if q.Name == "" && redis.HasErrorPrefix(err, "WRONGTYPE") {
			continue // a key of another program, which cannot be taken either
		}
		if err != nil {
			return nil, err
		}
		if ok {
			page = append(page, st)
		}
	}
	return page, nil
}
