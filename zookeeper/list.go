package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

const (
	// defaultLimit is how many entries a listing has unless the query says otherwise.
	defaultLimit = 1000
	// window is how many names are looked at together.
	window = 128
)

// List implements [driver.Engine]. Each name is shown as it was at one moment. The TTL of a holder is the longest it can be: the servers tell nobody
// how long a session still lasts.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	if err := e.client.sync(ctx, e.prefix); err != nil {
		return nil, err
	}
	var page []driver.Status
	for _, kind := range driver.Kinds {
		if kinds[kind] == "" || q.Kind != 0 && q.Kind != kind || kind < q.After.Kind {
			continue
		}
		keys, err := e.keys(ctx, q, kind)
		if err != nil {
			return nil, surprise(err)
		}
		for part := range slices.Chunk(keys, min(window, q.Limit)) {
			if len(page) == q.Limit {
				break
			}
			found, err := e.statuses(ctx, part, q)
			if err != nil {
				return nil, surprise(err)
			}
			page = append(page, found[:min(len(found), q.Limit-len(page))]...)
		}
	}
	return page, nil
}

// keys returns the names that match a query, in order.
func (e *Engine) keys(ctx context.Context, q driver.Query, kind driver.Kind) ([]driver.Key, error) {
	if q.Name != "" {
		k := driver.Key{Kind: kind, Name: q.Name}
		if !wanted(q, k) {
			return nil, nil
		}
		return []driver.Key{k}, nil
	}
	nodes, err := e.client.children(ctx, e.base(kind))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	var keys []driver.Key
	for _, node := range nodes {
		name, ok := unescape(node)
		if k := (driver.Key{Kind: kind, Name: name}); ok && wanted(q, k) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, driver.Key.Compare)
	return keys, err
}

func wanted(q driver.Query, k driver.Key) bool {
	return strings.HasPrefix(k.Name, q.Prefix) && k.Compare(q.After) > 0
}

// statuses tells of names, but not of those that are free.
func (e *Engine) statuses(ctx context.Context, keys []driver.Key, q driver.Query) (page []driver.Status, err error) {
	all := make([]driver.Status, len(keys))
	errs := make([]error, len(keys))
	each(len(keys), func(i int) {
		all[i], errs[i] = e.status(ctx, keys[i], q.Queue)
		if q.Name == "" && errors.Is(errs[i], errMadeUp) {
			errs[i] = nil // it is left out: nobody gets it either
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(st driver.Status) bool { return len(st.Holders) == 0 && st.Waiting == 0 }), nil
}

// status tells of a name.
func (e *Engine) status(ctx context.Context, k driver.Key, queue bool) (driver.Status, error) {
	st := driver.Status{Key: k}
	held, waiting, err := e.holders(ctx, k)
	if err != nil {
		if errors.Is(err, errGone) {
			err = nil
		}
		return st, err
	}
	for _, h := range held {
		if one, ok := e.holder(h); ok {
			st.Holders = append(st.Holders, one)
		}
	}
	slices.SortFunc(st.Holders, func(a, b driver.Holder) int { return cmp.Compare(a.Token, b.Token) })
	st.Waiting = len(waiting)
	if !queue {
		return st, nil
	}
	waiters, err := e.inspect(ctx, k, waiting)
	for _, w := range waiters {
		st.Queue = append(st.Queue, driver.Waiter{Mode: w.driverMode(), Weight: w.weight, Holder: w.Holder, Age: e.client.age(w.stat.Ctime)})
	}
	st.Waiting = len(st.Queue)
	return st, err
}

// holder tells of one who holds. It reports false for a kept place that is over.
func (e *Engine) holder(o *occupied) (h driver.Holder, ok bool) {
	h = driver.Holder{
		Token:  o.token(),
		Mode:   o.driverMode(),
		Weight: o.weight,
		Holder: o.Holder,
		TTL:    time.Duration(o.TTL) * time.Millisecond,
		Age:    -1, // it may have waited before
	}
	if o.kept {
		h.TTL -= e.client.age(o.stat.Ctime)
	}
	return h, h.TTL > 0
}

func (o *occupied) driverMode() driver.Mode {
	if o.mode == shared || o.Shared {
		return driver.Shared
	}
	return driver.Exclusive
}
