package redisson

import (
	"context"
	"errors"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/internal/paging"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// scanCount is how many keys a server looks through in one step of a search. During a step it does nothing else for
// about half a millisecond.
const scanCount = 500

// List implements [driver.Engine]. It goes through the keys of all servers in small steps (SCAN), as names of Redisson
// have nothing in common. So it takes time in proportion to their number, and its entries need not have existed at the
// same moment.
//
// It cannot tell who holds what in Java, beyond the client of a lock, and what looks like any other number: permits of
// Redisson's RSemaphore, and latches that only programs in Java have used.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	return paging.Collect(q, func(q driver.Query, visit func(piece []driver.Status) bool) error {
		return e.walk(ctx, q, visit)
	})
}

// Walk implements [driver.Operator]. It first goes through the keys of all servers in small steps (SCAN), and then
// reads the names that it found.
func (e *Engine) Walk(ctx context.Context, q driver.Query, visit func(piece []driver.Status) bool) error {
	q.Limit = math.MaxInt
	return e.walk(ctx, q, visit)
}

// walk calls visit with what matches the query, one by one, up to the query's limit.
func (e *Engine) walk(ctx context.Context, q driver.Query, visit func(piece []driver.Status) bool) error {
	keys := paging.Keys(q)
	if q.Name == "" {
		var err error
		if keys, err = e.search(ctx, q); err != nil {
			return reply.NoEffect(err)
		}
	}
	for _, k := range keys {
		if q.Limit == 0 {
			return nil
		}
		st, found, err := e.status(ctx, k)
		switch {
		case err != nil:
			return reply.NoEffect(err)
		case !found:
			continue
		case !q.Queue:
			st.Queue = nil
		}
		if !visit([]driver.Status{st}) {
			return nil
		}
		q.Limit--
	}
	return nil
}

// search returns the sorted keys of all names that may be held.
func (e *Engine) search(ctx context.Context, q driver.Query) ([]driver.Key, error) {
	var mu sync.Mutex
	found := map[driver.Key]struct{}{}
	searched := 0
	for kind := range paging.Kinds(q) {
		where, ok := e.searches()[kind]
		if !ok {
			continue
		}
		err := e.scan(ctx, where.prefix+q.Prefix, where.keyType, func(keys []string, steps int) {
			mu.Lock()
			defer mu.Unlock()
			for _, key := range keys {
				name, ok := where.parse(key)
				k := driver.Key{Kind: kind, Name: name}
				if _, err := e.name(k); ok && err == nil && paging.Matches(q, k) {
					found[k] = struct{}{}
				}
			}
			if searched += steps; q.Progress != nil {
				q.Progress(searched)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Keys(found), driver.Key.Compare), nil
}

// scan calls collect with the keys of a type whose text contains part, and with how many keys it has searched since the
// last call. In a Cluster, calls overlap.
func (e *Engine) scan(ctx context.Context, part, keyType string, collect func(keys []string, searched int)) error {
	pattern := "*" + escapePattern(part) + "*"
	return e.onEachMaster(ctx, func(ctx context.Context, c redis.Cmdable) error {
		for cursor := uint64(0); ; {
			keys, next, err := c.ScanType(ctx, cursor, pattern, scanCount, keyType).Result()
			if err != nil {
				return explain(err)
			}
			if cursor = next; cursor == 0 {
				collect(keys, len(keys))
				return nil
			}
			collect(keys, scanCount)
		}
	})
}

// onEachMaster calls f with each server that has keys. In a Cluster, it calls f in several goroutines.
func (e *Engine) onEachMaster(ctx context.Context, f func(context.Context, redis.Cmdable) error) error {
	return detach.Run(ctx, &e.workers, func(ctx context.Context) error {
		switch c := e.client.(type) {
		case *redis.ClusterClient:
			return c.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return f(ctx, c) })
		case *redis.Client:
			conn := c.Conn() // on another server, a cursor would mean something else
			defer conn.Close()
			return f(ctx, conn)
		}
		return errNoClient
	})
}

// search says how the names of a kind are found.
type search struct {
	keyType string // the type of a key that each of them has while it is held
	nameOf  func(key string) (name string, ok bool)
	prefix  string // of all names
}

// searches returns how to find the names of each kind.
func (e *Engine) searches() map[driver.Kind]search {
	return map[driver.Kind]search{
		driver.Lock:      {"hash", lockOf, e.prefix},
		driver.Semaphore: {"zset", semaphoreOf, e.prefix + e.semaphorePrefix},
		driver.Latch:     {"hash", latchOf, e.prefix + e.latchPrefix},
	}
}

// lockOf returns the name of the lock whose key it may be.
func lockOf(key string) (name string, ok bool) { return key, !strings.HasPrefix(key, "leasehold_") }

// parse returns the name that may be held if there is such a key.
func (s search) parse(key string) (name string, ok bool) {
	if name, ok = s.nameOf(key); ok {
		name, ok = strings.CutPrefix(name, s.prefix)
	}
	return name, ok && name != ""
}

// status reads what is known about a name.
func (e *Engine) status(ctx context.Context, k driver.Key) (_ driver.Status, found bool, _ error) {
	if k.Kind == driver.Latch {
		return e.latchStatus(ctx, k)
	}
	p, name, err := e.object(k)
	if errors.Is(err, driver.ErrUnsupported) {
		return driver.Status{}, false, nil
	}
	if err != nil {
		return driver.Status{}, false, err
	}
	answer, err := within(ctx, answerTimeout, func(ctx context.Context) (any, error) {
		return e.run(ctx, func(string) call { return p.status(name) })
	})
	if err != nil || answer == nil {
		return driver.Status{}, false, err
	}
	st, err := p.readStatus(answer)
	st.Key = k
	return st, len(st.Holders) > 0 || st.Waiting > 0, err
}

var patternChars = regexp.MustCompile(`[\\*?\[\]^-]`)

// escapePattern makes a pattern that matches a text literally.
func escapePattern(text string) string { return patternChars.ReplaceAllString(text, `\$0`) }
