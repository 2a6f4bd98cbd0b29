package redisson

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
	"github.com/leasehold-go/leasehold/redis/internal/keypattern"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// What a lock without an end has as its mark, and a check before the scripts that take a lock away.
var (
	leakOf     = luascript.New(leakMarkText + "return leak_mark(KEYS[1])")
	checkLeaks = leakMarkText + "if leak_mark(KEYS[1]) ~= ARGV[#ARGV] then return 0 end\n"
	sweeps     = map[*luascript.Script]*luascript.Script{
		lockForce:      luascript.New(checkLeaks + publishingText + ownerText + lockForceText),
		fairForce:      luascript.New(checkLeaks + publishingText + ownerText + fairText + fairForceText),
		readWriteForce: luascript.New(checkLeaks + publishingText + ownerText + readWriteText + readWriteForceText),
	}
)

// Leaks implements [driver.Operator]. It finds
//
//   - locks whose lease never ends, which no client makes, be it this one or one in Java;
//   - fair locks that are free, and whose waiters are all dead: they leave the queue only when somebody locks;
//   - what leasehold keeps beside the keys of Redisson, and would never expire, which no client makes.
//
// It does not find permits that programs in Java have taken without a lease, which is their default: nothing tells
// whether their holders are alive.
func (e *Engine) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	if e.connections.IsClosed() {
		return errClosed
	}
	searched, more := 0, true
	report, before := q.Progress, 0
	if report != nil {
		q.Progress = func(n int) {
			searched = before + n
			report(searched)
		}
	}
	err := e.findEndless(ctx, q, func(l driver.Leak) bool {
		more = visit(l)
		return more
	})
	for _, s := range leftBehind {
		if err != nil || !more {
			break
		}
		before = searched
		more, err = e.findLeft(ctx, s, q, visit)
	}
	if err != nil {
		return reply.NoEffect(err)
	}
	return nil
}

// left says what may be left behind in a key beside an object.
type left struct {
	kind    driver.Kind
	keyType string
	prefix  string // of the key; the mark of the leak, too
	sort    driver.LeakSort
}

var leftBehind = []left{
	{driver.Lock, "list", "redisson_lock_queue", driver.DeadWaiters},
	{driver.Lock, "hash", "leasehold_waiters", driver.Remains},
	{driver.Lock, "hash", "leasehold_holders", driver.Remains},
	{driver.Semaphore, "hash", "leasehold_permits", driver.Remains},
	{driver.Latch, "hash", "leasehold_latch", driver.Remains},
}

// find makes a call that tells how much is left behind.
func (s left) find(name string) call {
	if s.sort == driver.DeadWaiters {
		return fairLock{}.newCall(fairDead, name, "", nil)
	}
	return call{remainsFind, []string{withPrefix(s.prefix, name)}, nil}
}

// remainsLast is for how long remains are kept that would never expire: as long as the longest lease, in case that they
// belong to somebody.
const remainsLast = 24 * time.Hour

// sweep makes a call that tells the same, and removes it.
func (s left) sweep(name, publish string) call {
	if s.sort == driver.DeadWaiters {
		return fairLock{}.newCall(fairBury, name, publish, nil)
	}
	return call{remainsSweep, []string{withPrefix(s.prefix, name)}, []any{luascript.Millis(remainsLast)}}
}

// findLeft visits what is left behind in keys of one sort.
func (e *Engine) findLeft(
	ctx context.Context, s left, q driver.Query, visit func(driver.Leak) bool,
) (more bool, _ error) {
	q.After = driver.Key{}
	if q.Kind != 0 && q.Kind != s.kind {
		return true, nil
	}
	names := map[string]driver.Key{}
	prefix := e.searches()[s.kind].prefix
	if q.Name != "" {
		names[prefix+q.Name] = driver.Key{Kind: s.kind, Name: q.Name}
	} else {
		var mu sync.Mutex
		searched := 0
		pattern := keypattern.Escape(s.prefix) + ":*" + keypattern.Escape(prefix+q.Prefix) + "*"
		err := e.scanPattern(ctx, pattern, s.keyType, func(keys []string, steps int) {
			mu.Lock()
			defer mu.Unlock()
			for _, key := range keys {
				full, ok := nameBehind(s.prefix, key)
				name, ours := strings.CutPrefix(full, prefix)
				if k := (driver.Key{Kind: s.kind, Name: name}); ok && ours && name != "" && paging.Matches(q, k) {
					names[full] = k
				}
			}
			if searched += steps; q.Progress != nil {
				q.Progress(searched)
			}
		})
		if err != nil {
			return false, err
		}
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(names)), namesTogether) {
		var calls []call
		for _, name := range some {
			calls = append(calls, s.find(name))
		}
		answers, err := e.readTogether(ctx, calls)
		if err != nil {
			return false, err
		}
		for i, answer := range answers {
			count, isNumber := answer.(int64)
			switch l := (driver.Leak{Key: names[some[i]], Sort: s.sort, Count: int(count), Mark: s.prefix}); {
			case !isNumber:
				return false, errReply
			case count > 0 && !visit(l):
				return false, nil
			}
		}
	}
	return true, nil
}

// findEndless visits locks whose leases never end.
func (e *Engine) findEndless(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	if q.Kind != 0 && q.Kind != driver.Lock {
		return nil
	}
	q.Kind, q.After, q.Limit = driver.Lock, driver.Key{}, math.MaxInt
	var failed error
	err := e.walk(ctx, q, func(piece []driver.Status) bool {
		for _, st := range piece {
			if st.Kind != driver.Lock || len(st.Holders) != 1 || st.Holders[0].TTL != driver.NoTTL {
				continue
			}
			mark, err := e.leakMark(ctx, st.Key)
			if err != nil {
				failed = reply.NoEffect(err)
				return false
			}
			h := st.Holders[0]
			if mark != "" && !visit(driver.Leak{
				Key: st.Key, Sort: driver.EndlessLease, Token: h.Token, Holder: h.Holder, Count: 1, Mark: mark,
			}) {
				return false
			}
		}
		return true
	})
	if failed != nil {
		return failed
	}
	return err
}

func (e *Engine) leakMark(ctx context.Context, k driver.Key) (string, error) {
	_, name, err := e.object(k)
	if err != nil {
		return "", err
	}
	answer, err := e.run(ctx, func(string) call { return call{leakOf, []string{name}, nil} })
	mark, _ := answer.(string)
	return mark, err
}

// Sweep implements [driver.Operator]. One script checks that the leak is still the same, and removes it: it takes a
// lock away as a forced release does, and removes a queue unless one of its waiters still listens. Remains are not
// removed, but expire after a day, in case that they belong to somebody.
func (e *Engine) Sweep(ctx context.Context, l driver.Leak) error {
	if err := ctx.Err(); err != nil {
		return driver.NoEffect(err)
	}
	if e.connections.IsClosed() {
		return errClosed
	}
	for _, s := range leftBehind {
		if l.Name == "" || l.Kind != s.kind || l.Sort != s.sort || l.Mark != s.prefix {
			continue
		}
		name, err := e.name(l.Key)
		if err != nil {
			return err
		}
		answer, err := readInteger(e.run(ctx, func(publish string) call { return s.sweep(name, publish) }))
		if err == nil && answer == 0 {
			err = driver.ErrNotHeld
		}
		return err
	}
	if l.Name == "" || l.Kind != driver.Lock || l.Sort != driver.EndlessLease || l.Mark == "" {
		return driver.ErrNotHeld
	}
	p, name, err := e.object(l.Key)
	if err != nil {
		return err
	}
	return replies.Held(e.run(ctx, func(publish string) call {
		c := p.force(name, l.Token, nil, publish) // the mark says who holds it
		c.script, c.args = sweeps[c.script], append(c.args, l.Mark)
		return c
	}))
}
