package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

const (
	// together is how many locks one transaction looks at, beside their session: servers allow for 128 operations.
	together = 127
	// aside is how many locks are moved to other sessions at the same time.
	aside = 16
)

// renewal is an item of a batch, and its index in it.
type renewal struct {
	driver.Renewal
	index   int
	m       *member
	on      *session
	created int64
	path    string
}

// Renew implements [driver.Engine]. Locks whose session lasts long enough are only looked at, many in one read; no renewal of them is a
// write. The others, which were waited for or are to last longer than before, are moved to another session, each by itself.
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	parts, others := e.sort(batch, report)
	if len(parts) == 1 && len(others) == 0 { // most often
		e.renewPart(ctx, parts[0], report)
		return
	}
	var work sync.WaitGroup
	for _, items := range parts {
		work.Go(func() { e.renewPart(ctx, items, report) })
	}
	e.renewAlone(ctx, others, report)
	work.Wait()
}

// sort finds those who are on a session that can last as long as they are to, and moves their ends: a lease that is being renewed is not
// ended by this process.
func (e *Engine) sort(batch []driver.Renewal, report func(i int, err error)) (parts [][]renewal, others []renewal) {
	ms := &e.members
	now := driver.Now()
	var over []int
	defer func() {
		for _, i := range over { // whoever is told may ask the engine something
			report(i, driver.ErrNotHeld)
		}
	}()
	ms.mu.Lock()
	defer ms.mu.Unlock()
	of := make(map[*session]int, 1) // which part has room
	for i, r := range batch {
		m := ms.find(r.Key, r.Owner)
		switch {
		case m != nil && m.ending != nil:
			over = append(over, i) // the lease has ended, and its removal is under way
			continue
		case m == nil || !m.granted || m.on == nil || m.on.isGone() || m.grace < r.TTL || m.on.baseLeft(now) < r.TTL || r.Token != 0 && r.Token != uint64(m.created):
			others = append(others, renewal{Renewal: r, index: i})
			continue
		}
		ms.extend(m, r.TTL)
		at, some := of[m.on]
		if !some || len(parts[at]) == together {
			at = len(parts)
			of[m.on] = at
			parts = append(parts, make([]renewal, 0, min(together, len(batch)-i)))
		}
		parts[at] = append(parts[at], renewal{r, i, m, m.on, m.created, m.path})
	}
	return parts, others
}

// renewPart renews locks on one session. If that is to end, some of them leave it, once they have been renewed: should that fail, as it does when the
// database is full, they are there for longer.
func (e *Engine) renewPart(ctx context.Context, items []renewal, report func(i int, err error)) {
	e.renewAlone(ctx, e.renewTogether(ctx, items, report), report)
	if items[0].on.retired.Load() {
		e.renewAlone(ctx, items[:min(aside, len(items))], func(int, error) {})
	}
}

// renewTogether renews locks on one session. First it sees to the session, then it reads whether that and the keys are still there, and the keys on
// its base. That read is what the leases last from: should the session end later, the locks are left alone for their grace. It returns those that
// it is to be done for in another way.
func (e *Engine) renewTogether(ctx context.Context, items []renewal, report func(i int, err error)) (others []renewal) {
	s := items[0].on
	last, err := e.sessions.keep(ctx, s)
	if err == nil && last != s {
		return items // the session is gone: the keys are to name another one, in time
	}
	var t *pb.TxnResponse
	if err == nil {
		reads := make([]*pb.RequestOp, 1, 1+len(items))
		reads[0] = opKey(s.key)
		for _, r := range items {
			reads = append(reads, opKey(r.path))
		}
		t, err = e.txn(ctx, nil, reads, nil)
	}
	if err == nil && len(t.Responses[0].GetResponseRange().Kvs) == 0 {
		e.sessions.lost(s)
		return items
	}
	for i, r := range items {
		if err != nil {
			report(r.index, noEffect(err))
			continue
		}
		kvs := t.Responses[1+i].GetResponseRange().Kvs
		switch {
		case len(kvs) == 0:
			e.members.gone(r.m, r.created)
			report(r.index, driver.ErrNotHeld)
		case kvs[0].CreateRevision != r.created || clientv3.LeaseID(kvs[0].Lease) != s.base:
			others = append(others, r)
		default:
			report(r.index, nil)
		}
	}
	return others
}

// renewAlone renews what this engine does not know, or what is to be moved: some at a time.
func (e *Engine) renewAlone(ctx context.Context, items []renewal, report func(i int, err error)) {
	if len(items) == 1 {
		report(items[0].index, e.renew(ctx, items[0].Renewal))
		return
	}
	var work sync.WaitGroup
	slots := make(chan struct{}, aside)
	for _, r := range items {
		slots <- struct{}{} // those at work end with ctx
		work.Go(func() {
			defer func() { <-slots }()
			report(r.index, e.renew(ctx, r.Renewal))
		})
	}
	work.Wait()
}

// renew renews one lock.
func (e *Engine) renew(ctx context.Context, r driver.Renewal) error {
	m, err := e.members.enter(ctx, r.Key, r.Owner)
	if err != nil {
		return err
	}
	defer e.members.leave(m)
	for range tries {
		known := e.members.created(m)
		l, _, err := e.look(ctx, r.Key)
		if err != nil {
			return err
		}
		own, holds := l.owned(r.Kind, m.mark)
		if l.find(m.mark) < 0 {
			e.members.gone(m, known)
		}
		if !holds {
			return driver.ErrNotHeld
		}
		if _, err = e.lengthen(ctx, m, own, r.TTL); !errors.Is(err, errChanged) {
			return err
		}
	}
	return errBusy
}

// lengthen makes the lease of a place that holds last for a ttl from the instant on that it returns, and never shortens it. It answers
// errChanged if the key was changed meanwhile.
func (e *Engine) lengthen(ctx context.Context, m *member, own *place, ttl time.Duration) (driver.Instant, error) {
	longest := max(own.ttl, ttl) // what was longer before stays so
	for range tries {
		s, start, err := e.sessions.get(ctx, class(longest))
		if err != nil {
			return start, err
		}
		life := ttl
		if own.session == s.id && own.lease == s.base && own.grace >= ttl && s.baseLeft(start) >= ttl {
			there, err := e.sees(ctx, s)
			if err != nil {
				return start, err
			}
			if there {
				return start, e.members.stands(m, own.whereabouts(), s, true, life)
			}
			e.sessions.lost(s)
			continue
		}
		known := e.members.created(m)
		if known == 0 {
			life = longest // when it was renewed last is not known
		}
		if _, err := e.members.puts(m, ttl, s); err != nil {
			return start, err
		}
		moved := *own
		moved.ttl = longest
		moved.card = moved.on(s, longest)
		t, err := e.txn(ctx, all(own.unchanged(), exists(s.key)), ops(opPut(own.path, moved.card, s.base)), ops(opKey(s.key)))
		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			e.sessions.lost(s)
		case err != nil:
			return start, err
		case t.Succeeded:
			return start, e.members.moved(m, known, &moved, s, life)
		case len(t.Responses[0].GetResponseRange().Kvs) == 0:
			e.sessions.lost(s)
		default:
			return start, errChanged
		}
	}
	return driver.Instant{}, errBusy
}

// sees reports whether a session is there: from the instant before on, what names it is left alone for its grace.
func (e *Engine) sees(ctx context.Context, s *session) (bool, error) {
	r, err := e.read(ctx, &pb.RangeRequest{Key: []byte(s.key), CountOnly: true})
	return r.GetCount() > 0, err
}
