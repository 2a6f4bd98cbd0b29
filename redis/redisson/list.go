package redisson

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/internal/paging"
	"github.com/leasehold-go/leasehold/redis/internal/keypattern"
	"github.com/leasehold-go/leasehold/redis/internal/replicas"
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

// namesTogether is how many names are read in one request to a server.
const namesTogether = 100

// walk calls visit with what matches the query, piece by piece, up to the query's limit.
func (e *Engine) walk(ctx context.Context, q driver.Query, visit func(piece []driver.Status) bool) error {
	keys, searched := paging.Keys(q), 0
	if q.Name == "" {
		var err error
		if keys, searched, err = e.search(ctx, q); err != nil {
			return reply.NoEffect(err)
		}
	}
	for len(keys) > 0 && q.Limit > 0 {
		n := min(len(keys), namesTogether, q.Limit)
		piece, err := e.statuses(ctx, keys[:n])
		switch {
		case err != nil:
			return reply.NoEffect(err)
		case len(piece) == 0 && q.Name != "" && keys[0].Kind == driver.Lock:
			if err := e.refuseForeign(ctx, keys[0]); err != nil {
				return reply.NoEffect(err)
			}
		case len(piece) == 0:
			if q.Progress != nil && q.Name == "" {
				q.Progress(searched)
			}
		case !q.Queue:
			for i := range piece {
				piece[i].Queue = nil
			}
			fallthrough
		default:
			if !visit(piece) {
				return nil
			}
		}
		keys, q.Limit = keys[n:], q.Limit-len(piece)
	}
	return nil
}

// refuseForeign returns an error if the key of a lock holds something of another program: the lock is not free then.
func (e *Engine) refuseForeign(ctx context.Context, k driver.Key) error {
	_, name, err := e.object(k)
	if err == nil {
		_, err = e.readTogether(ctx, []call{{lockRefusal, []string{name}, nil}})
	}
	return err
}

// search returns the sorted keys of all names that may be held, and how many keys it has searched. It asks only for
// keys of the types that the kinds have: hashes for locks and latches, sorted sets for semaphores.
func (e *Engine) search(ctx context.Context, q driver.Query) (_ []driver.Key, searched int, _ error) {
	kinds := map[string][]search{}
	for kind := range paging.Kinds(q) {
		if where, ok := e.searches()[kind]; ok {
			kinds[where.keyType] = append(kinds[where.keyType], where)
		}
	}
	var mu sync.Mutex
	found := map[driver.Key]struct{}{}
	for keyType, kinds := range kinds {
		begin := kinds[0].prefix + q.Prefix
		for _, where := range kinds[1:] {
			for other := where.prefix + q.Prefix; !strings.HasPrefix(other, begin); {
				begin = begin[:len(begin)-1]
			}
		}
		err := e.scan(ctx, begin, keyType, func(keys []string, steps int) {
			mu.Lock()
			defer mu.Unlock()
			for _, key := range keys {
				for _, where := range kinds {
					name, ok := where.parse(key)
					k := driver.Key{Kind: where.kind, Name: name}
					if _, err := e.name(k); ok && err == nil && paging.Matches(q, k) {
						found[k] = struct{}{}
					}
				}
			}
			if searched += steps; q.Progress != nil {
				q.Progress(searched)
			}
		})
		if err != nil {
			return nil, 0, err
		}
	}
	return slices.SortedFunc(maps.Keys(found), driver.Key.Compare), searched, nil
}

// scan calls collect with the keys of a type whose text contains part, and with how many keys it has searched since the
// last call. In a Cluster, calls overlap.
func (e *Engine) scan(ctx context.Context, part, keyType string, collect func(keys []string, searched int)) error {
	return e.scanPattern(ctx, "*"+keypattern.Escape(part)+"*", keyType, collect)
}

// scanPattern is scan with a pattern of the server's.
func (e *Engine) scanPattern(
	ctx context.Context, pattern, keyType string, collect func(keys []string, searched int),
) error {
	return e.onEachMaster(ctx, func(ctx context.Context, c redis.Cmdable) error {
		for cursor := uint64(0); ; {
			keys, err := within(ctx, answerTimeout, func(ctx context.Context) (keys []string, err error) {
				keys, cursor, err = c.ScanType(ctx, cursor, pattern, scanCount, keyType).Result()
				return keys, err
			})
			if err != nil {
				return explain(err)
			}
			if cursor == 0 {
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
	kind    driver.Kind
	keyType string // the type of a key that each of them has while it is held
	nameOf  func(key string) (name string, ok bool)
	prefix  string // of all names
}

// searches returns how to find the names of each kind.
func (e *Engine) searches() map[driver.Kind]search {
	return map[driver.Kind]search{
		driver.Lock:      {driver.Lock, "hash", lockOf, e.prefix},
		driver.Semaphore: {driver.Semaphore, "zset", semaphoreOf, e.prefix + e.semaphorePrefix},
		driver.Latch:     {driver.Latch, "hash", latchOf, e.prefix + e.latchPrefix},
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

// question is what a listing asks about a name.
type question struct {
	call
	read func(answer any) (_ driver.Status, found bool, _ error)
}

// question returns what to ask about a name; nothing if there can be none of its kind.
func (e *Engine) question(k driver.Key) (*question, error) {
	if k.Kind == driver.Latch {
		return e.latchQuestion(k)
	}
	p, name, err := e.object(k)
	if errors.Is(err, driver.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &question{p.status(name), func(answer any) (st driver.Status, found bool, err error) {
		if answer != nil {
			st, err = p.readStatus(answer)
		}
		st.Key = k
		return st, len(st.Holders) > 0 || st.Waiting > 0, err
	}}, nil
}

// statuses reads what is known about some names, and leaves out those of which nothing is.
func (e *Engine) statuses(ctx context.Context, keys []driver.Key) (all []driver.Status, _ error) {
	var questions []*question
	var calls []call
	for _, k := range keys {
		q, err := e.question(k)
		if err != nil {
			return nil, err
		}
		if q != nil {
			questions, calls = append(questions, q), append(calls, q.call)
		}
	}
	answers, err := e.readTogether(ctx, calls)
	if err != nil {
		return nil, err
	}
	for i, q := range questions {
		st, found, err := q.read(answers[i])
		if err != nil {
			return nil, err
		}
		if found {
			all = append(all, st)
		}
	}
	return all, nil
}

// readTogether returns the answers to calls that only read.
func (e *Engine) readTogether(ctx context.Context, calls []call) ([]any, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	return within(ctx, answerTimeout, func(ctx context.Context) ([]any, error) {
		return detach.Do(ctx, &e.workers, func(ctx context.Context) (_ []any, failed error) {
			answers := make([]any, len(calls))
			var none replicas.Confirmation
			e.runTogether(ctx, none, onOneServer(e.client), calls, func(i int, answer any, _, err error) {
				if answers[i] = answer; failed == nil {
					failed = err
				}
			})
			return answers, failed
		}, nil)
	})
}
