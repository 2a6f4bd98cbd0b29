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
	// maxLocksPerRead is how many locks one transaction reads, besides their session: servers allow 128 operations.
	maxLocksPerRead = 127
	// maxParallel limits requests that are sent one by one for many locks.
	maxParallel = 16
)

// renewal is an item of a batch, and its index in it.
type renewal struct {
	driver.Renewal
	index   int
	owned   *ownedKey
	session *session
	created int64
	path    string
}

// Renew implements [driver.Engine]. Locks whose session lasts long enough are only read, many in one request; renewing
// them writes nothing. The others were granted after a wait, or are to last longer than before. Each of them is moved
// to another session by a request of its own.
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	parts, others := e.groupBySession(batch, report)
	if len(parts) == 1 && len(others) == 0 { // the usual case
		e.renewGroup(ctx, parts[0], report)
		return
	}
	var work sync.WaitGroup
	for _, items := range parts {
		work.Go(func() { e.renewGroup(ctx, items, report) })
	}
	e.renewEach(ctx, others, report)
	work.Wait()
}

// groupBySession groups locks whose session can last as long as they need, and extends their expiry: this process does
// not remove a lock while it is being renewed.
func (e *Engine) groupBySession(
	batch []driver.Renewal, report func(i int, err error),
) (parts [][]renewal, others []renewal) {
	ks := &e.ownedKeys
	now := driver.Now()
	var expired []int
	defer func() {
		for _, i := range expired { // without the mutex: report may call the engine
			report(i, driver.ErrNotHeld)
		}
	}()
	ks.mu.Lock()
	defer ks.mu.Unlock()
	of := make(map[*session]int, 1) // the group of a session that has room
	for i, r := range batch {
		owned := ks.findLocked(r.Key, r.Owner)
		switch {
		case owned != nil && owned.removed != nil:
			expired = append(expired, i) // the lease has expired, and is being removed
			continue
		case owned == nil || !owned.granted || owned.session == nil || owned.session.isGone() ||
			owned.grace < r.TTL || owned.session.baseLeft(now) < r.TTL ||
			r.Token != 0 && r.Token != uint64(owned.created):
			others = append(others, renewal{Renewal: r, index: i})
			continue
		}
		ks.extendLocked(owned, r.TTL)
		at, some := of[owned.session]
		if !some || len(parts[at]) == maxLocksPerRead {
			at = len(parts)
			of[owned.session] = at
			parts = append(parts, make([]renewal, 0, min(maxLocksPerRead, len(batch)-i)))
		}
		parts[at] = append(parts[at], renewal{r, i, owned, owned.session, owned.created, owned.path})
	}
	return parts, others
}

// renewGroup renews locks on one session. If the session is retired, some of the locks move to another one, but only
// after they have been renewed: if the move fails, as it does when the database is full, the locks still last longer.
func (e *Engine) renewGroup(ctx context.Context, items []renewal, report func(i int, err error)) {
	e.renewEach(ctx, e.renewByRead(ctx, items, report), report)
	if items[0].session.retired.Load() {
		e.renewEach(ctx, items[:min(maxParallel, len(items))], func(int, error) {})
	}
}

// renewByRead renews locks on one session. It keeps the session alive, and then reads whether the session and the keys
// exist, and whether the keys are still attached to the session's base. The leases count from that read: should the
// session end later, others leave the locks alone for their grace. It returns the locks that must be renewed in another
// way.
func (e *Engine) renewByRead(ctx context.Context, items []renewal, report func(i int, err error)) (others []renewal) {
	s := items[0].session
	last, err := e.sessions.refresh(ctx, s)
	if err == nil && last != s {
		return items // the session has ended: the keys must soon name another one
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
		e.sessions.noteGone(s)
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
			e.ownedKeys.noteGone(r.owned, r.created)
			report(r.index, driver.ErrNotHeld)
		case kvs[0].CreateRevision != r.created || clientv3.LeaseID(kvs[0].Lease) != s.base:
			others = append(others, r)
		default:
			report(r.index, nil)
		}
	}
	return others
}

// renewEach renews locks one by one that this engine does not know or that have to move, several at a time.
func (e *Engine) renewEach(ctx context.Context, items []renewal, report func(i int, err error)) {
	if len(items) == 1 {
		report(items[0].index, e.renewOne(ctx, items[0].Renewal))
		return
	}
	var work sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for _, r := range items {
		slots <- struct{}{} // the running requests end with ctx
		work.Go(func() {
			defer func() { <-slots }()
			report(r.index, e.renewOne(ctx, r.Renewal))
		})
	}
	work.Wait()
}

// renewOne renews one lock.
func (e *Engine) renewOne(ctx context.Context, r driver.Renewal) error {
	owned, err := e.ownedKeys.beginCall(ctx, r.Key, r.Owner)
	if err != nil {
		return err
	}
	defer e.ownedKeys.endCall(owned)
	for range maxTries {
		known := e.ownedKeys.createdRevision(owned)
		q, _, err := e.fetchQueue(ctx, r.Key)
		if err != nil {
			return err
		}
		own, holds := q.findOwned(r.Kind, owned.mark)
		if q.indexOfOwner(owned.mark) < 0 {
			e.ownedKeys.noteGone(owned, known)
		}
		if !holds {
			return driver.ErrNotHeld
		}
		if _, err = e.extendEntry(ctx, owned, own, r.TTL); !errors.Is(err, errChanged) {
			return err
		}
	}
	return errBusy
}

// extendEntry makes the lease of a holder's entry last for ttl from the instant that it returns. It never shortens a
// lease. The error is errChanged if the key was changed meanwhile.
func (e *Engine) extendEntry(
	ctx context.Context, owned *ownedKey, own *entry, ttl time.Duration,
) (driver.Instant, error) {
	longest := max(own.ttl, ttl) // never shorter than before
	for range maxTries {
		s, start, err := e.sessions.get(ctx, sessionSeconds(longest))
		if err != nil {
			return start, err
		}
		life := ttl
		if own.session == s.id && own.etcdLease == s.base && own.grace >= ttl && s.baseLeft(start) >= ttl {
			there, err := e.isSessionThere(ctx, s)
			if err != nil {
				return start, err
			}
			if there {
				return start, e.ownedKeys.noteStored(owned, own.keyState(), s, true, life)
			}
			e.sessions.noteGone(s)
			continue
		}
		known := e.ownedKeys.createdRevision(owned)
		if known == 0 {
			life = longest // the last renewal is not known
		}
		if _, err := e.ownedKeys.preparePut(owned, ttl, s); err != nil {
			return start, err
		}
		moved := *own
		moved.ttl = longest
		moved.record = moved.onSession(s, longest)
		t, err := e.txn(ctx, all(own.compareUnchanged(), compareExists(s.key)),
			ops(opPut(own.path, moved.record, s.base)), ops(opKey(s.key)))
		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			e.sessions.noteGone(s)
		case err != nil:
			return start, err
		case t.Succeeded:
			return start, e.ownedKeys.noteMoved(owned, known, &moved, s, life)
		case len(t.Responses[0].GetResponseRange().Kvs) == 0:
			e.sessions.noteGone(s)
		default:
			return start, errChanged
		}
	}
	return driver.Instant{}, errBusy
}

// isSessionThere reports whether a session exists. If so, others leave the entries that name it alone for their grace,
// counted from before the call.
func (e *Engine) isSessionThere(ctx context.Context, s *session) (bool, error) {
	r, err := e.read(ctx, &pb.RangeRequest{Key: []byte(s.key), CountOnly: true})
	return r.GetCount() > 0, err
}
