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

// mostAtOnce is how many locks one transaction takes: servers allow for 128 operations, and for as many conditions, with those for sessions.
const mostAtOnce = 120

// TakeAll implements [driver.AllTaker] with one transaction for up to 128 names, and another one if some of the owners hold already.
func (e *Engine) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	if len(batch) > mostAtOnce {
		return nil, driver.ErrApart
	}
	a := joint{e: e, batch: batch}
	defer a.leave()
	for _, r := range batch {
		m, err := e.members.enter(ctx, r.Key, r.Owner)
		if err != nil {
			return nil, err
		}
		a.all = append(a.all, m)
	}
	for range tries {
		grants, err := a.send(ctx)
		switch {
		case errors.Is(err, rpctypes.ErrTooManyOps):
			return nil, driver.ErrApart
		case !errors.Is(err, errChanged):
			return grants, err
		}
	}
	return nil, errBusy
}

// joint is a TakeAll.
type joint struct {
	e     *Engine
	batch []driver.Request
	all   []*member
	holds []*place // those of the owners that hold already, as they were read; empty before that

	on    []*session
	paths []string
	start driver.Instant
}

func (a *joint) leave() {
	for _, m := range a.all {
		a.e.members.leave(m)
	}
}

// send tries once. It answers errChanged if another try may get another answer.
func (a *joint) send(ctx context.Context) ([]driver.Grant, error) {
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	cmps, puts, reads := a.transaction()
	t, err := a.e.txn(ctx, cmps, puts, reads)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		a.e.sessions.lost(a.on...)
		return nil, errChanged
	case err != nil:
		if !driver.HadNoEffect(err) {
			for i, m := range a.all {
				a.e.members.doubt(m, a.batch[i].TTL)
			}
		}
		return nil, err
	case t.Succeeded:
		return a.granted(t.Header.Revision)
	}
	return nil, a.judge(ctx, t)
}

// prepare sees to sessions that last. A lease that was longer before stays so.
func (a *joint) prepare(ctx context.Context) error {
	a.on, a.paths = a.on[:0], a.paths[:0]
	for i, r := range a.batch {
		s, start, err := a.e.sessions.get(ctx, class(a.ttl(i)))
		if err != nil {
			return err
		}
		if i == 0 { // the others lasted at later moments
			a.start = start
		}
		path, err := a.e.members.puts(a.all[i], r.TTL, s)
		if err != nil {
			return err
		}
		if own := a.own(i); own != nil {
			path = own.path
		}
		a.on, a.paths = append(a.on, s), append(a.paths, path)
	}
	return nil
}

// own returns the place of an owner that holds already, or nil.
func (a *joint) own(i int) *place {
	if len(a.holds) == 0 {
		return nil
	}
	return a.holds[i]
}

// sessions are those that are named, each once.
func (a *joint) sessions() (each []*session) {
	for i, s := range a.on {
		if !slices.Contains(a.on[:i], s) {
			each = append(each, s)
		}
	}
	return each
}

// ttl is the longest that an owner has asked for.
func (a *joint) ttl(i int) time.Duration {
	if own := a.own(i); own != nil {
		return max(own.ttl, a.batch[i].TTL)
	}
	return a.batch[i].TTL
}

func (a *joint) transaction() (cmps []*pb.Compare, puts, reads []*pb.RequestOp) {
	for i, r := range a.batch {
		s := a.e.places(r.Key)
		c := cardOf(r, a.all[i].mark)
		if own := a.own(i); own != nil {
			c = own.card
			c.ttl = a.ttl(i)
			cmps = append(cmps, own.unchanged())
		} else {
			cmps = append(cmps, s.noneAfter(0))
		}
		puts = append(puts, opPut(a.paths[i], c.on(a.on[i], c.ttl), a.on[i].base))
		reads = append(reads, opRange(s))
	}
	for _, s := range a.sessions() {
		cmps = append(cmps, exists(s.key))
	}
	return cmps, puts, reads
}

// judge finds out what a refusal means: it answers errChanged if all names are free, or their owners' already.
func (a *joint) judge(ctx context.Context, t *pb.TxnResponse) error {
	holds := make([]*place, len(a.batch))
	for i, r := range a.batch {
		l := readLine(t.Responses[i].GetResponseRange().Kvs)
		own, inside := l.owned(r.Kind, a.all[i].mark)
		if len(l) > 0 && !inside {
			a.e.lookAfter(ctx, r.Key, l)
			return driver.ErrHeld
		}
		holds[i] = own
	}
	a.holds = holds
	if err := a.e.sessions.check(ctx, a.sessions()...); err != nil { // one of them may be gone
		return err
	}
	return errChanged
}

// granted makes grants of a transaction at a revision. Tokens are equal if the keys were created together: each name counts its own.
func (a *joint) granted(revision int64) ([]driver.Grant, error) {
	var grants []driver.Grant
	var late error
	for i, m := range a.all {
		created := revision
		life := a.batch[i].TTL
		if own := a.own(i); own != nil {
			created = own.created
			if a.e.members.created(m) == 0 {
				life = max(life, own.ttl) // when it was renewed last is not known
			}
		}
		at := whereabouts{a.paths[i], created, graceOf(a.ttl(i))}
		if err := a.e.members.stands(m, at, a.on[i], true, life); err != nil {
			late = err // but the others are to be known
		}
		grants = append(grants, driver.Grant{Token: uint64(created), Start: a.start})
	}
	if late != nil {
		return nil, late
	}
	return grants, nil
}
