package etcd

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

// maxKeysPerRead limits the keys that one request reads, so that other requests are not kept waiting.
const maxKeysPerRead = 1000

// List implements [driver.Engine]. All entries of a listing existed at one moment. The remaining time of a lease is
// what the server knows: the holder's process may end the lease a few seconds earlier.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	q.Limit = paging.Limit(q)
	for range maxTries {
		l := listing{e: e, q: q}
		err := l.read(ctx)
		if errors.Is(err, rpctypes.ErrCompacted) {
			continue // too slow: the revision is compacted by now
		}
		if err != nil {
			return nil, err
		}
		return l.page, l.fill(ctx)
	}
	return nil, errBusy
}

// listing is one call of List.
type listing struct {
	e        *Engine
	q        driver.Query
	revision int64 // at which everything is read; set by the first answer

	page       []driver.Status
	etcdLeases []holderEtcdLease
}

// holderEtcdLease says which etcd lease belongs to a holder in the page.
type holderEtcdLease struct {
	entry, holder int
	etcdLease     clientv3.LeaseID
	isSession     bool // the etcd lease is that of the holder's session
}

// remaining says how long an etcd lease still lasts, and for how long it was granted. It is zero if the etcd lease has
// ended.
type remaining struct{ left, total time.Duration }

func (l *listing) read(ctx context.Context) error {
	for kind := range paging.Kinds(l.q) {
		if kind == driver.Latch {
			continue
		}
		if err := l.readKind(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// readKind reads the names of a kind until the page is full.
func (l *listing) readKind(ctx context.Context, kind driver.Kind) error {
	bounds := l.bounds(kind)
	var name string
	var kvs []*mvccpb.KeyValue
	for len(l.page) < l.q.Limit && bounds.from < bounds.to {
		part, more, err := l.readPart(ctx, bounds)
		if err != nil {
			return err
		}
		for _, kv := range part {
			n, ok := l.e.nameOf(kind, string(kv.Key))
			if !ok || !strings.HasPrefix(n, l.q.Prefix) {
				continue // a prefix with a zero byte reaches into the entries of a name
			}
			if n != name {
				l.add(driver.Key{Kind: kind, Name: name}, kvs)
				name, kvs = n, nil
			}
			kvs = append(kvs, kv)
		}
		if !more {
			break
		}
		bounds.from = string(part[len(part)-1].Key) + "\x00"
	}
	l.add(driver.Key{Kind: kind, Name: name}, kvs)
	return nil
}

// bounds returns the range of keys that the query asks for. The keys of a name begin with the name and a zero byte.
func (l *listing) bounds(kind driver.Kind) keyRange {
	from, to := paging.Bounds(l.q, kind)
	prefix := l.e.keys.kindPrefix(kind)
	return keyRange{prefix + from, prefix + to}
}

// readPart reads a part of the range, as of the listing's revision.
func (l *listing) readPart(ctx context.Context, kr keyRange) (kvs []*mvccpb.KeyValue, more bool, err error) {
	r, err := l.e.read(ctx, &pb.RangeRequest{
		Key: []byte(kr.from), RangeEnd: []byte(kr.to), Limit: maxKeysPerRead, Revision: l.revision,
	})
	if err != nil {
		return nil, false, err
	}
	if l.revision == 0 {
		l.revision = r.Header.Revision
	}
	return r.Kvs, r.More, nil
}

// add puts a name into the page, if there is room and the name has entries.
func (l *listing) add(k driver.Key, kvs []*mvccpb.KeyValue) {
	if len(kvs) == 0 || len(l.page) == l.q.Limit {
		return
	}
	all := readQueue(kvs)
	in := all.holderCount(k.Kind)
	st := driver.Status{Key: k, Waiting: len(all) - in}
	for i, en := range all {
		switch {
		case i < in:
			st.Holders = append(st.Holders, driver.Holder{
				Token: uint64(en.created), Mode: en.state.mode(), Weight: en.weight, Holder: en.holder,
				TTL: en.ttl, Age: -1,
			})
			h := holderEtcdLease{len(l.page), i, en.etcdLease, false}
			if en.session != 0 {
				h.etcdLease, h.isSession = en.session, true
			}
			l.etcdLeases = append(l.etcdLeases, h)
		case l.q.Queue:
			w := driver.Waiter{Mode: en.state.mode(), Weight: en.weight, Holder: en.holder, Age: -1}
			st.Queue = append(st.Queue, w)
		}
	}
	l.page = append(l.page, st)
}

// fill asks for the remaining time of the etcd leases, each once. An entry on an etcd lease of its own lasts no longer
// than that. An entry with a session was most likely renewed when its session was last kept alive.
func (l *listing) fill(ctx context.Context) error {
	left := make(map[clientv3.LeaseID]*remaining)
	var work sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for _, h := range l.etcdLeases {
		if left[h.etcdLease] != nil || h.etcdLease == clientv3.NoLease {
			continue
		}
		d := new(remaining)
		left[h.etcdLease] = d
		slots <- struct{}{} // the running requests end with ctx
		work.Go(func() {
			defer func() { <-slots }()
			*d = l.e.remainingOf(ctx, h.etcdLease)
		})
	}
	work.Wait()
	for _, h := range l.etcdLeases {
		ttl, d := &l.page[h.entry].Holders[h.holder].TTL, left[h.etcdLease]
		switch {
		case d == nil:
			*ttl = driver.NoTTL
		case h.isSession && d.left > 0:
			*ttl = max(*ttl-(d.total-d.left), time.Millisecond)
		case !h.isSession && d.left > 0 && (*ttl == 0 || d.left < *ttl):
			*ttl = d.left
		}
	}
	return ctx.Err()
}

// remainingOf asks how long an etcd lease still lasts. It returns zero if there is no answer: then the listing shows
// the ttl that the holder asked for.
func (e *Engine) remainingOf(ctx context.Context, id clientv3.LeaseID) remaining {
	ctx, end, err := e.withTimeout(ctx)
	if err != nil {
		return remaining{}
	}
	defer end()
	r, err := e.leaseClient.LeaseTimeToLive(ctx, &pb.LeaseTimeToLiveRequest{ID: int64(id)})
	if err != nil {
		return remaining{}
	}
	return remaining{time.Duration(r.TTL) * time.Second, time.Duration(r.GrantedTTL) * time.Second}
}
