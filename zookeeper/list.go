package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

// listBatch is how many names are read at a time.
const listBatch = 128

// List implements [driver.Engine]. Each name is shown as it was at one moment. The TTL of a holder is the longest
// possible: the servers do not tell how long a session will last.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	q.Limit = paging.Limit(q)
	if err := e.client.sync(ctx, e.prefix); err != nil {
		return nil, err
	}
	var page []driver.Status
	for kind := range paging.Kinds(q) {
		if kindNodes[kind] == "" {
			continue
		}
		keys, err := e.readKeys(ctx, q, kind)
		if err != nil {
			return nil, asUnexpected(err)
		}
		for part := range slices.Chunk(keys, min(listBatch, q.Limit)) {
			if len(page) == q.Limit {
				break
			}
			found, err := e.readStatuses(ctx, part, q)
			if err != nil {
				return nil, asUnexpected(err)
			}
			page = append(page, found[:min(len(found), q.Limit-len(page))]...)
		}
	}
	return page, nil
}

// readKeys returns the names that match a query, in order.
func (e *Engine) readKeys(ctx context.Context, q driver.Query, kind driver.Kind) ([]driver.Key, error) {
	if q.Name != "" {
		q.Kind = kind
		return paging.Keys(q), nil
	}
	nodes, err := e.client.children(ctx, e.kindNode(kind))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	var keys []driver.Key
	for _, node := range nodes {
		name, ok := unescape(node)
		if k := (driver.Key{Kind: kind, Name: name}); ok && paging.Matches(q, k) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, driver.Key.Compare)
	return keys, err
}

// readStatuses returns the status of each name that is held or waited for.
func (e *Engine) readStatuses(ctx context.Context, keys []driver.Key, q driver.Query) ([]driver.Status, error) {
	all := make([]driver.Status, len(keys))
	errs := make([]error, len(keys))
	forEach(len(keys), func(i int) {
		all[i], errs[i] = e.readStatus(ctx, keys[i], q.Queue)
		if q.Name == "" && errors.Is(errs[i], errForgedSequence) {
			errs[i] = nil // left out: nobody can get it either
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(st driver.Status) bool { return len(st.Holders) == 0 && st.Waiting == 0 }), nil
}

// readStatus returns the status of a name.
func (e *Engine) readStatus(ctx context.Context, k driver.Key, queue bool) (driver.Status, error) {
	st := driver.Status{Key: k}
	held, waiting, err := e.readHolders(ctx, k)
	if err != nil {
		if errors.Is(err, errGone) {
			err = nil
		}
		return st, err
	}
	for _, h := range held {
		if one, ok := e.asHolder(h); ok {
			st.Holders = append(st.Holders, one)
		}
	}
	slices.SortFunc(st.Holders, func(a, b driver.Holder) int { return cmp.Compare(a.Token, b.Token) })
	st.Waiting = len(waiting)
	if !queue {
		return st, nil
	}
	waiters, err := e.readNodes(ctx, k, waiting)
	for _, w := range waiters {
		age := e.client.age(w.stat.Ctime)
		st.Queue = append(st.Queue, driver.Waiter{Mode: w.driverMode(), Weight: w.weight, Holder: w.Holder, Age: age})
	}
	st.Waiting = len(st.Queue)
	return st, err
}

// asHolder describes a holder. It reports false for a kept lock whose time is over.
func (e *Engine) asHolder(info *nodeInfo) (h driver.Holder, ok bool) {
	h = driver.Holder{
		Token:  info.grantToken(),
		Mode:   info.driverMode(),
		Weight: info.weight,
		Holder: info.Holder,
		TTL:    time.Duration(info.TTL) * time.Millisecond,
		Age:    -1, // not known: the entry may have waited before
	}
	if info.kept {
		h.TTL -= e.client.age(info.stat.Ctime)
	}
	return h, h.TTL > 0
}

func (info *nodeInfo) driverMode() driver.Mode {
	if info.mode == shared || info.Shared {
		return driver.Shared
	}
	return driver.Exclusive
}
