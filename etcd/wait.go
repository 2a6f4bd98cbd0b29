package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/leasehold-go/leasehold/driver"
)

const (
	// lookEvery is how often a waiter looks for itself, in case that an event was lost.
	lookEvery = 15 * time.Second
	// A waiter that gets no answer asks again after a pause that doubles.
	firstPause, lastPause = 50 * time.Millisecond, time.Second
)

// errMoved says that a waiter has to look anew.
var errMoved = errors.New("etcd: the line has changed")

// Wait implements [driver.Engine].
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.Waiters = true, 0
	m, err := e.members.enter(ctx, r.Key, r.Owner)
	if err != nil {
		return driver.Grant{}, err
	}
	defer e.members.leave(m)
	read := e.members.waits(m)
	defer e.members.waitsNoMore(m)

	w := waiter{Request: r, e: e, m: m, span: e.places(r.Key), read: read, began: time.Now()}
	defer w.leave()
	pause := firstPause
	for {
		g, err := w.turn(ctx)
		switch {
		case err == nil:
			return g, nil
		case ctx.Err() != nil && w.joining:
			return g, ctx.Err() // the place, or a grant, may come yet
		case ctx.Err() != nil:
			return g, unsent(ctx)
		case e.life.Err() != nil:
			return g, errClosed
		case driver.IsPermanent(err):
			return g, err
		case errors.Is(err, errMoved):
			pause = firstPause
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		case <-e.life.Done():
		}
		pause = min(2*pause, lastPause)
	}
}

// waiter is a Wait.
type waiter struct {
	driver.Request
	span
	e *Engine
	m *member

	read    sighting // of the Take before
	began   time.Time
	on      *session // on which the place is, kept alive meanwhile
	release func()   // of that
	joining bool     // a request that puts the place there may be under way
}

func (w *waiter) leave() {
	if w.release != nil {
		w.release()
		w.on, w.release = nil, nil
	}
}

// turn looks once, joins if there is no place, and waits until something changes. It answers errMoved to be called again.
func (w *waiter) turn(ctx context.Context) (g driver.Grant, err error) {
	s, _, err := w.e.sessions.get(ctx, queueClass(w.TTL))
	if err != nil {
		return g, err
	}
	if s != w.on {
		w.leave()
		w.on, w.release = s, w.e.sessions.attend(s)
	}
	known, home := w.e.members.created(w.m), w.e.members.homeOf(w.m)
	l, revision := w.read.line, w.read.revision
	if w.read = (sighting{}); revision == 0 {
		if l, revision, err = w.e.look(ctx, w.Key); err != nil {
			return g, err
		}
	}
	own, holds := l.owned(w.Kind, w.m.mark)
	switch {
	case own == nil && max(l.find(w.m.mark), l.at(home)) >= 0: // kept, and nobody's: the owner can have no other place before that one ends
		kept := l[max(l.find(w.m.mark), l.at(home))]
		return g, w.await(ctx, view{span: kept.alone(), place: kept, revision: revision, still: func(now line) bool { return now.has(kept) }})
	case own == nil:
		w.e.members.gone(w.m, known)
		return w.join(ctx)
	case own.session != s.id && holds:
		start, err := w.e.lengthen(ctx, w.m, own, w.TTL)
		if errors.Is(err, errChanged) {
			err = errMoved
		}
		return driver.Grant{Token: uint64(own.created), Start: start}, err
	case own.session != s.id:
		return g, w.adopt(ctx, own)
	case holds:
		return w.grant(own)
	}
	if err := w.e.members.stands(w.m, own.whereabouts(), s, false, placeLife); err != nil {
		return g, err
	}
	inspected, err := w.inspect(ctx, l[:l.find(w.m.mark)])
	if err != nil {
		return g, err
	}
	return w.follow(ctx, l, revision, inspected)
}

// grant tells of a place that holds.
func (w *waiter) grant(own *place) (driver.Grant, error) {
	g, again, err := w.e.told(w.m, own, w.on, w.TTL)
	if again {
		err = errMoved // its session lasts no longer: see to that first
	}
	return g, err
}

// join goes to the end of the line.
func (w *waiter) join(ctx context.Context) (driver.Grant, error) {
	w.joining = true
	g, err := w.e.take(ctx, w.Request, w.m)
	if err == nil || driver.HadNoEffect(err) {
		w.joining = false
	}
	if errors.Is(err, driver.ErrHeld) {
		err = errMoved
	}
	return g, err
}

// adopt moves a place, of which nothing is known here, to a session that is kept alive.
func (w *waiter) adopt(ctx context.Context, own *place) error {
	if _, err := w.e.members.puts(w.m, w.TTL, w.on); err != nil {
		return err
	}
	c := own.card.on(w.on, min(w.TTL, placeTTL))
	t, err := w.e.txn(ctx, all(own.unchanged(), exists(w.on.key)), ops(opPut(own.path, c, w.on.base)), nil)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		w.e.sessions.lost(w.on)
		err = nil
	case err == nil && !t.Succeeded:
		err = w.e.sessions.check(ctx, w.on)
	}
	if err == nil {
		err = errMoved
	}
	return err
}
