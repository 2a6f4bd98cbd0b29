package etcd

import (
	"context"
	"errors"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/leasehold-go/leasehold/driver"
)

// tries is how often a transaction is sent that others keep from fitting.
const tries = 8

// Places of waiters are on a session of this ttl at most, so that one that has died is soon passed over. A grant that was waited for is
// moved to a session of its own ttl when it is first renewed, which the core does at once if the other one is too short.
const placeTTL = 7 * time.Second

// queueClass is class for places of waiters. Their session is longer than it must be, so that its heartbeat costs little: who has died is passed over a few
// seconds later.
func queueClass(ttl time.Duration) int64 { return class(2 * min(ttl, placeTTL)) }

// firstLease is how long a grant lasts at least that was waited for, unless a shorter one was asked for.
const firstLease = 2 * time.Second

// Take implements [driver.Engine].
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	m, err := e.members.enter(ctx, r.Key, r.Owner)
	if err != nil {
		return driver.Grant{}, err
	}
	defer e.members.leave(m)
	return e.take(ctx, r, m)
}

func (e *Engine) take(ctx context.Context, r driver.Request, m *member) (driver.Grant, error) {
	a := attempt{Request: r, e: e, m: m, span: e.places(r.Key), joins: r.Kind == driver.Semaphore || e.members.rivals.expected(r.Key)}
	for range tries {
		g, again, err := a.send(ctx)
		if !again {
			return g, a.outcome(err)
		}
	}
	return driver.Grant{}, a.outcome(errBusy)
}

// attempt is a Take: one transaction, if others do not come between. A small one does for a name that is expected to be free.
type attempt struct {
	driver.Request
	span
	e    *Engine
	m    *member
	path string

	// seen is the revision at which there was room beside those who were there; 0 if only an empty place will do.
	seen int64

	hold  *session // for a grant
	start driver.Instant
	queue *session // for a place in the queue; nil if there is not to be one
	joins bool     // a refused one joins with the same request, if it is to join: others are expected to be there

	joined bool // it has a place
}

// send tries once. It answers with again if another try may get another answer.
func (a *attempt) send(ctx context.Context) (g driver.Grant, again bool, err error) {
	if err = a.prepare(ctx); err != nil {
		return g, false, err
	}
	t, err := a.e.txn(ctx, a.room(), a.enter(), a.refuse())
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		a.e.sessions.lost(a.hold, a.queue)
		return g, true, nil
	case err != nil:
		if !driver.HadNoEffect(err) {
			a.e.members.doubt(a.m, a.TTL)
		}
		return g, false, err
	}
	if t.Succeeded {
		return a.enters(t.Header.Revision)
	}
	answers, granted := t.Responses, false
	if a.Mode == driver.Shared {
		inner := answers[0].GetResponseTxn()
		granted, answers = inner.Succeeded, inner.Responses
	}
	l := readLine(answers[len(answers)-1].GetResponseRange().Kvs)
	if !granted && len(answers[len(answers)-2].GetResponseRange().Kvs) == 0 { // the session is gone
		return g, true, a.e.sessions.check(ctx, a.hold)
	}
	if i := l.at(a.path); i >= 0 && l[i].mark == a.m.mark && l.find(a.m.mark) != i {
		if err := a.withdraw(ctx, l[i]); err != nil {
			return g, false, driver.Spent(unsure{err}) // the first transaction has put the place there
		}
		l, granted = slices.Delete(l, i, i+1), false
	}
	if granted {
		return a.enters(t.Header.Revision)
	}
	return a.judge(ctx, l, t.Header.Revision)
}

// enters makes a grant of a transaction at a revision.
func (a *attempt) enters(revision int64) (g driver.Grant, again bool, err error) {
	err = a.e.members.stands(a.m, whereabouts{a.path, revision, graceOf(a.TTL)}, a.hold, true, a.TTL)
	return driver.Grant{Token: uint64(revision), Start: a.start}, false, err
}

// withdraw removes a place again, since the owner turned out to have an earlier one, on the key of another engine.
func (a *attempt) withdraw(ctx context.Context, p place) error {
	_, err := a.e.txn(ctx, all(createdAt(p.path, p.created)), ops(opDelete(p.path)), nil)
	if err != nil {
		a.e.members.doubt(a.m, a.TTL)
	}
	return err
}

// prepare sees to sessions that last.
func (a *attempt) prepare(ctx context.Context) (err error) {
	e := a.e
	if a.hold, a.start, err = e.sessions.get(ctx, class(a.TTL)); err != nil {
		return err
	}
	if !a.Join || !a.joins {
		a.path, err = e.members.puts(a.m, a.TTL, a.hold)
		return err
	}
	if a.queue, _, err = e.sessions.get(ctx, queueClass(a.TTL)); err != nil {
		return err
	}
	a.path, err = e.members.puts(a.m, a.TTL, a.hold, a.queue)
	return err
}

func (a *attempt) put(s *session, ttl time.Duration) *pb.RequestOp {
	return opPut(a.path, cardOf(a.Request, a.m.mark).on(s, ttl), s.base)
}

// room compares: nobody is there, or nobody but those who were there when there was room; and the session is, so that what comes when it has ended,
// however late that is, leaves nothing.
func (a *attempt) room() []*pb.Compare {
	if a.seen == 0 {
		return all(a.noneAfter(0), exists(a.hold.key))
	}
	return all(a.noneAfter(a.seen), a.absent(), exists(a.hold.key))
}

func (a *attempt) enter() []*pb.RequestOp { return ops(a.put(a.hold, a.TTL)) }

// absent compares: the owner's key is not there. If it is, it is left as it is, since it may have been made shared, or have been left.
func (a *attempt) absent() *pb.Compare { return createdAt(a.path, 0) }

// refuse is what is done where there is no room: a reader enters if there are none but readers; others read who is there, when they have joined.
func (a *attempt) refuse() []*pb.RequestOp {
	refused := ops(opKey(a.hold.key), opRange(a.span))
	if a.queue != nil {
		join := opTxn(all(a.absent(), exists(a.queue.key)), ops(a.put(a.queue, min(a.TTL, placeTTL))), nil)
		refused = ops(join, refused[0], refused[1])
	}
	if a.Mode == driver.Shared {
		refused = ops(opTxn(all(a.allShared(), a.absent(), exists(a.hold.key)), append(a.enter(), opRange(a.span)), refused))
	}
	return refused
}

// judge finds out what a refusal means to the owner.
func (a *attempt) judge(ctx context.Context, l line, revision int64) (g driver.Grant, again bool, err error) {
	own, holds := l.owned(a.Kind, a.m.mark)
	if own == nil {
		a.e.members.rivals.seen(a.Key)
	}
	if a.queue != nil && l.find(a.m.mark) < 0 && l.at(a.path) < 0 { // it has not joined, as the session of places is gone
		if err := a.e.sessions.check(ctx, a.queue); err != nil || a.queue.isGone() {
			return g, true, err
		}
	}
	switch {
	case a.Join && !a.joins && l.find(a.m.mark) < 0:
		a.joins = true
		return g, true, nil
	case own == nil && !a.Join && a.seen < revision && a.fits(l):
		a.seen = revision
		return g, true, nil
	case own == nil: // or the place is kept, and will not be the owner's again
		if !a.Join {
			a.e.lookAfter(ctx, a.Key, l)
		}
		return g, false, driver.ErrHeld
	case holds && a.queue != nil && own.session == a.queue.id && own.created == revision: // it has joined where there was room
		a.joined = true
		return a.e.told(a.m, own, a.queue, a.TTL)
	case holds:
		a.seen = 0
		start, err := a.e.lengthen(ctx, a.m, own, a.TTL)
		return driver.Grant{Token: uint64(own.created), Start: start}, errors.Is(err, errChanged), err
	case a.tooMany(l, own, revision):
		if err := a.withdraw(ctx, *own); err != nil {
			return g, false, driver.Spent(unsure{err})
		}
		return g, false, driver.ErrCrowded
	case a.queue != nil && own.session == a.queue.id:
		if err := a.e.members.stands(a.m, own.whereabouts(), a.queue, false, placeLife); err != nil {
			return g, false, err
		}
		a.e.members.refused(a.m, l, revision)
	}
	return g, false, driver.ErrHeld
}

// tooMany reports whether as many wait before the owner as may, and it has joined just now. Who has joined before keeps the place. Of several who
// join at once each sees who has come before, so there are never more who stay; for a moment there are those who are sent away.
func (a *attempt) tooMany(l line, own *place, revision int64) bool {
	return a.Waiters > 0 && a.queue != nil && own.created == revision && l.find(a.m.mark)-l.inside(a.Kind) >= a.Waiters
}

// outcome is the error of an attempt: that the last request had no effect does not say so of one before.
func (a *attempt) outcome(err error) error {
	if a.joined && err != nil && driver.HadNoEffect(err) {
		return unsure{err}
	}
	return err
}

// fits reports whether there is room for the permits beside those who are there.
func (a *attempt) fits(l line) bool {
	if a.Kind != driver.Semaphore || l.find(a.m.mark) >= 0 {
		return false
	}
	l = append(l, place{card: cardOf(a.Request, a.m.mark)})
	return l.inside(a.Kind) == len(l)
}

// told makes a grant of a place that turned out to hold, on its session s. It may be a short one: how old the news is that it holds is not known, so
// it lasts for as long as others surely leave the place alone.
func (e *Engine) told(m *member, own *place, s *session, ttl time.Duration) (g driver.Grant, again bool, err error) {
	now := driver.Now()
	g = driver.Grant{Token: uint64(own.created), Start: now}
	if left := e.sessions.safe(s, own.grace, now); left < ttl {
		if ttl = left; ttl < firstLease {
			return driver.Grant{}, true, e.members.stands(m, own.whereabouts(), s, false, placeLife)
		}
		g.TTL = ttl
	}
	return g, false, e.members.stands(m, own.whereabouts(), s, true, ttl)
}
