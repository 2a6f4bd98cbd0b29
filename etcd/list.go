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
)

const (
	// defaultLimit is how many entries a listing has unless the query says otherwise.
	defaultLimit = 1000
	// atOnce is how many keys one request reads, so that others are not kept waiting.
	atOnce = 1000
)

// List implements [driver.Engine]. All entries of one listing existed at one moment. What is left of a lease is said as far as the server
// knows: the process that holds it may end it a few seconds earlier.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	for range tries {
		l := listing{e: e, q: q}
		err := l.read(ctx)
		if errors.Is(err, rpctypes.ErrCompacted) {
			continue // so slow that its moment has been forgotten
		}
		if err != nil {
			return nil, err
		}
		return l.page, l.fill(ctx)
	}
	return nil, errBusy
}

// listing is a List.
type listing struct {
	e        *Engine
	q        driver.Query
	revision int64 // the moment, once the first request has been answered

	page   []driver.Status
	leases []holderLease
}

// holderLease says which lease of etcd tells of a holder in the page.
type holderLease struct {
	entry, holder int
	lease         clientv3.LeaseID
	session       bool // it is that of its session
}

// remaining is what is left of a lease of etcd, and for how long it was granted; nothing if it has ended.
type remaining struct{ left, granted time.Duration }

func (l *listing) read(ctx context.Context) error {
	for _, kind := range driver.Kinds {
		if kind == driver.Latch || l.q.Kind != 0 && l.q.Kind != kind || kind < l.q.After.Kind {
			continue
		}
		if err := l.kind(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// kind reads the names of a kind, until the page is full.
func (l *listing) kind(ctx context.Context, kind driver.Kind) error {
	bounds := l.bounds(kind)
	var name string
	var kvs []*mvccpb.KeyValue
	for len(l.page) < l.q.Limit && bounds.from < bounds.to {
		part, more, err := l.part(ctx, bounds)
		if err != nil {
			return err
		}
		for _, kv := range part {
			n, ok := l.e.name(kind, string(kv.Key))
			if !ok || !strings.HasPrefix(n, l.q.Prefix) { // a prefix with a zero byte reaches into the places of a name
				continue
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

// bounds returns the keys that the query wants. No name contains a zero byte, nor 0xff, which UTF-8 never uses.
func (l *listing) bounds(kind driver.Kind) span {
	from, to := l.q.Prefix, l.q.Prefix+"\xff"
	if l.q.Name != "" {
		from, to = max(from, l.q.Name), min(to, l.q.Name+"\x01")
	}
	if kind == l.q.After.Kind {
		from = max(from, l.q.After.Name+"\x01")
	}
	stem := l.e.keys.kind(kind)
	return span{stem + from, stem + to}
}

// part reads some keys, all as they were at the same moment.
func (l *listing) part(ctx context.Context, s span) (kvs []*mvccpb.KeyValue, more bool, err error) {
	r, err := l.e.read(ctx, &pb.RangeRequest{Key: []byte(s.from), RangeEnd: []byte(s.to), Limit: atOnce, Revision: l.revision})
	if err != nil {
		return nil, false, err
	}
	if l.revision == 0 {
		l.revision = r.Header.Revision
	}
	return r.Kvs, r.More, nil
}

// add puts a name in the page, if there is room and anybody is there.
func (l *listing) add(k driver.Key, kvs []*mvccpb.KeyValue) {
	if len(kvs) == 0 || len(l.page) == l.q.Limit {
		return
	}
	all := readLine(kvs)
	in := all.inside(k.Kind)
	st := driver.Status{Key: k, Waiting: len(all) - in}
	for i, p := range all {
		switch {
		case i < in:
			st.Holders = append(st.Holders, driver.Holder{
				Token: uint64(p.created), Mode: p.state.mode(), Weight: p.weight, Holder: p.holder, TTL: p.ttl, Age: -1,
			})
			h := holderLease{len(l.page), i, p.lease, false}
			if p.session != 0 {
				h.lease, h.session = p.session, true
			}
			l.leases = append(l.leases, h)
		case l.q.Queue:
			st.Queue = append(st.Queue, driver.Waiter{Mode: p.state.mode(), Weight: p.weight, Holder: p.holder, Age: -1})
		}
	}
	l.page = append(l.page, st)
}

// fill asks what is left of the leases of etcd, each once. A place on one of its own lasts no longer than that. One with a session was renewed, most
// likely, when that was kept alive last.
func (l *listing) fill(ctx context.Context) error {
	left := make(map[clientv3.LeaseID]*remaining)
	var work sync.WaitGroup
	slots := make(chan struct{}, aside)
	for _, h := range l.leases {
		if left[h.lease] != nil || h.lease == clientv3.NoLease {
			continue
		}
		d := new(remaining)
		left[h.lease] = d
		slots <- struct{}{} // those at work end with ctx
		work.Go(func() {
			defer func() { <-slots }()
			*d = l.e.leaseLeft(ctx, h.lease)
		})
	}
	work.Wait()
	for _, h := range l.leases {
		ttl, d := &l.page[h.entry].Holders[h.holder].TTL, left[h.lease]
		switch {
		case d == nil:
			*ttl = driver.NoTTL
		case h.session && d.left > 0:
			*ttl = max(*ttl-(d.granted-d.left), time.Millisecond)
		case !h.session && d.left > 0 && (*ttl == 0 || d.left < *ttl):
			*ttl = d.left
		}
	}
	return ctx.Err()
}

// leaseLeft asks what is left of a lease of etcd. It returns nothing if that is not to be known: the ttl that the holder asked for must do then.
func (e *Engine) leaseLeft(ctx context.Context, id clientv3.LeaseID) remaining {
	ctx, over, err := e.bounded(ctx)
	if err != nil {
		return remaining{}
	}
	defer over()
	r, err := e.leases.LeaseTimeToLive(ctx, &pb.LeaseTimeToLiveRequest{ID: int64(id)})
	if err != nil {
		return remaining{}
	}
	return remaining{time.Duration(r.TTL) * time.Second, time.Duration(r.GrantedTTL) * time.Second}
}
