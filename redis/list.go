package redis

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	keys, err := e.keys(ctx, q)
	if err != nil {
		return nil, driver.NoEffect(err)
	}
	var page []driver.Status
	for len(keys) > 0 && len(page) < q.Limit {
		n := min(len(keys), lookCount, q.Limit-len(page))
		found, err := e.statuses(ctx, keys[:n], q.Queue)
		if err != nil {
			return nil, driver.NoEffect(err)
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
		return slices.Contains(kinds, k.Kind) && compareKeys(k, q.After) > 0 && strings.HasPrefix(k.Name, q.Prefix) && (q.Name == "" || k.Name == q.Name)
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
	slices.SortFunc(keys, compareKeys)
	return keys, nil
}

func compareKeys(a, b driver.Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
}

var special = regexp.MustCompile(`[\\*?\[\]^-]`)

// escape makes a pattern that matches a text and nothing else.
func escape(text string) string { return special.ReplaceAllString(text, `\$0`) }

// scan calls f with the keys of all masters that match a pattern.
func (e *Engine) scan(ctx context.Context, pattern string, f func(key string)) error {
	each := func(ctx context.Context, c redis.Cmdable) error {
		for cursor := uint64(0); ; {
			keys, next, err := c.Scan(ctx, cursor, pattern, scanCount).Result()
			if err != nil {
				return explain(err)
			}
			for _, key := range keys {
				f(key)
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	}
	if cluster, ok := e.client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return each(ctx, c) })
	}
	return each(ctx, e.client)
}

// statuses reports what is known of some keys. Those of which nothing is are left out.
func (e *Engine) statuses(ctx context.Context, keys []driver.Key, queue bool) ([]driver.Status, error) {
	var page []driver.Status
	for _, k := range keys {
		st, ok, err := e.status(ctx, k, queue)
		if err != nil {
			return nil, err
		}
		if ok {
			page = append(page, st)
		}
	}
	return page, nil
}

func (e *Engine) status(ctx context.Context, k driver.Key, queue bool) (st driver.Status, ok bool, err error) {
	st.Key = k
	if k.Kind == driver.Latch {
		state, err := e.LatchState(ctx, k.Name)
		if driver.IsNo(err) {
			return st, false, nil
		}
		st.Latch = &state
		return st, err == nil, err
	}
	want := 0
	if queue {
		want = 1
	}
	n := e.names(k)
	answer, err := e.ask(ctx, look, n, n.all(), func() []any { return []any{want} })
	if err != nil {
		return st, false, err
	}
	seen, ok := readLook(answer)
	if !ok {
		return st, false, errReply
	}
	seen.fill(&st)
	return st, len(st.Holders) > 0 || st.Waiting > 0, nil
}

// sight is the answer of the script that looks at a name.
type sight struct {
	now, left int64
	detail    string
	held      bool
	foreign   bool
	holders   []any
	waiting   int64
	waiters   []any
}

func readLook(answer any) (s sight, ok bool) {
	items, _ := answer.([]any)
	if len(items) != 7 {
		return s, false
	}
	var isNow, isLeft, isWaiting bool
	s.now, isNow = items[0].(int64)
	s.left, isLeft = items[1].(int64)
	s.detail, s.held = items[2].(string)
	s.foreign = items[3] == int64(1)
	s.holders, _ = items[4].([]any)
	s.waiting, isWaiting = items[5].(int64)
	s.waiters, _ = items[6].([]any)
	return s, isNow && isLeft && isWaiting
}

// fill puts into a status what has been seen.
func (s *sight) fill(st *driver.Status) {
	switch {
	case s.foreign:
		st.Holders = append(st.Holders, driver.Holder{Weight: 1, Holder: "a client of another kind", TTL: ttl(s.left), Age: -1})
	case s.held:
		h := s.holder(s.detail)
		h.TTL = ttl(s.left)
		st.Holders = append(st.Holders, h)
	}
	for i := 0; i+1 < len(s.holders); i += 2 {
		left, _ := s.holders[i].(int64)
		record, _ := s.holders[i+1].(string)
		weight, detail, _ := strings.Cut(record, " ")
		h := s.holder(detail)
		h.TTL = time.Duration(left) * time.Millisecond
		h.Weight, _ = strconv.Atoi(weight)
		if st.Kind == driver.Lock {
			h.Mode = driver.Shared
		}
		st.Holders = append(st.Holders, h)
	}
	slices.SortFunc(st.Holders, func(a, b driver.Holder) int { return cmp.Compare(a.Token, b.Token) })
	st.Waiting = int(s.waiting)
	for _, item := range s.waiters {
		record, _ := item.(string)
		st.Queue = append(st.Queue, s.waiter(record, st.Kind))
	}
}

// holder reads "<token> <tokens> <granted, us>\n<text>".
func (s *sight) holder(detail string) driver.Holder {
	numbers, text, _ := strings.Cut(detail, "\n")
	fields := strings.Fields(numbers)
	h := driver.Holder{Weight: 1, Holder: text, Age: -1}
	if len(fields) == 3 {
		h.Token, _ = strconv.ParseUint(fields[0], 10, 64)
		if granted, err := strconv.ParseInt(fields[2], 10, 64); err == nil {
			h.Age = max(time.Duration(s.now*1000-granted)*time.Microsecond, 0)
		}
	}
	return h
}

// waiter reads the record of a waiter.
func (s *sight) waiter(record string, kind driver.Kind) driver.Waiter {
	first, text, _ := strings.Cut(record, "\n")
	fields := strings.Fields(first)
	w := driver.Waiter{Weight: 1, Holder: text, Age: -1}
	if len(fields) < 6 {
		return w
	}
	if fields[0] == "s" && kind == driver.Lock {
		w.Mode = driver.Shared
	}
	w.Weight, _ = strconv.Atoi(fields[1])
	if joined, err := strconv.ParseInt(fields[5], 10, 64); err == nil {
		w.Age = max(time.Duration(s.now-joined)*time.Millisecond, 0)
	}
	return w
}

// ttl is what is left of a lease: a key without an end is a leak.
func ttl(ms int64) time.Duration {
	if ms < 0 {
		return driver.NoTTL
	}
	return time.Duration(ms) * time.Millisecond
}
