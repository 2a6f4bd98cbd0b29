package etcd

import (
	"context"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// A place whose session is gone is an orphan, as Chubby's locks are that have a lock-delay: its owner may live, and believe that it holds, for its
// grace at most, since all that it believes it has from a moment at which the majority said that the session was there. Whoever finds an orphan in
// its way, after the session had ended, gets a lease of etcd for that time, which nobody keeps alive, and puts the place on it, if nobody has
// changed that. So the cluster itself counts the time and removes the place, even if whoever found it is gone by then. An owner who is still there
// names a new session, which takes the place off that lease again; which of the two was first, the majority decides.

const (
	// leastGrace gives those time who are granted a short lease after a wait.
	leastGrace = 4 * time.Second
	// settled is for how long somebody waits before it looks whether those before it live.
	settled = time.Second
	// askEvery is how often those who take, and do not wait, look for that.
	askEvery = time.Second
)

// graceOf is the grace of a place with a lease of a ttl.
func graceOf(ttl time.Duration) time.Duration { return max(ttl, leastGrace) }

// surely is for how many seconds a lease of etcd is to be asked for that is to last for some time by any clock.
func surely(d time.Duration) int64 { return wholeSeconds(d + d/64 + 5*time.Millisecond) }

// sessions are those that the places of a line name, each once.
func (l line) sessions() (all []clientv3.LeaseID) {
	known := make(map[clientv3.LeaseID]bool)
	for _, p := range l {
		if p.session != 0 && !known[p.session] {
			known[p.session] = true
			all = append(all, p.session)
		}
	}
	return all
}

// sessionsOfAFew are the first of them: servers allow for 128 operations of a transaction.
func (l line) sessionsOfAFew() []clientv3.LeaseID {
	const most = 120
	ids := l.sessions()
	return ids[:min(len(ids), most)]
}

// orphans returns those of a line whose session is gone, and the revision at which the others had theirs.
func (e *Engine) orphans(ctx context.Context, l line) (some line, revision int64, err error) {
	ids := l.sessionsOfAFew()
	if len(ids) == 0 {
		return nil, 0, nil
	}
	t, err := e.txn(ctx, nil, e.opSessions(ids), nil)
	if err != nil {
		return nil, 0, noEffect(err)
	}
	return l.without(ids, t.Responses), t.Header.Revision, nil
}

// opSessions reads the keys of sessions.
func (e *Engine) opSessions(ids []clientv3.LeaseID) []*pb.RequestOp {
	reads := make([]*pb.RequestOp, len(ids))
	for i, id := range ids {
		reads[i] = opKey(e.keys.session(id))
	}
	return reads
}

// without returns those of a line whose session is gone, by what was read of sessions.
func (l line) without(ids []clientv3.LeaseID, read []*pb.ResponseOp) (some line) {
	gone := make(map[clientv3.LeaseID]bool)
	for i, id := range ids {
		gone[id] = len(read[i].GetResponseRange().Kvs) == 0
	}
	for _, p := range l {
		if gone[p.session] {
			some = append(some, p)
		}
	}
	return some
}

// settle sees to it that orphans end when their grace is over.
func (e *Engine) settle(ctx context.Context, orphans line) error {
	leases := make(map[int64]clientv3.LeaseID)
	for _, p := range orphans {
		seconds := surely(p.grace)
		if leases[seconds] == 0 {
			lease, _, err := e.lease(ctx, seconds)
			if err != nil {
				return err
			}
			leases[seconds] = lease
		}
		if _, err := e.txn(ctx, all(p.unchanged()), ops(opPut(p.path, p.card.ends(), leases[seconds])), nil); err != nil {
			return noEffect(err) // that it may have comes to the same: it is looked for again
		}
	}
	return nil
}

// lookAfter settles orphans in a line, for one who was refused for them and does not wait. It does so now and then.
func (e *Engine) lookAfter(ctx context.Context, k driver.Key, l line) {
	if !e.looks.due(k) {
		return
	}
	if orphans, _, err := e.orphans(ctx, l); err == nil {
		_ = e.settle(ctx, orphans) // the next one tries again
	}
}

// looks says when orphans were last looked for in the lines of names.
type looks struct {
	mu   sync.Mutex
	last map[driver.Key]time.Time
}

// due reports whether it is time to look again, and notes that.
func (ls *looks) due(k driver.Key) bool {
	const most = 1000 // names that are remembered
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if last, some := ls.last[k]; some && time.Since(last) < askEvery {
		return false
	}
	if ls.last == nil || len(ls.last) >= most {
		ls.last = make(map[driver.Key]time.Time)
	}
	ls.last[k] = time.Now()
	return true
}

// inspect settles the orphans among those before a waiter that has waited for a moment. It returns the revision at which the others had their
// sessions, or 0 if it is too early for that.
func (w *waiter) inspect(ctx context.Context, before line) (revision int64, err error) {
	if time.Since(w.began) < settled {
		return 0, nil
	}
	orphans, revision, err := w.e.orphans(ctx, before)
	if err != nil {
		return 0, err
	}
	return max(revision, 1), w.e.settle(ctx, orphans)
}

// untilLook is how long a waiter waits before it looks for itself.
func (w *waiter) untilLook(v view) time.Duration {
	if v.inspected == 0 && len(v.sessions) > 0 {
		return max(settled-time.Since(w.began), firstPause)
	}
	return lookEvery
}

// lookAgain looks for a waiter that goes on to watch, with one request: whether the line is still as it knows it, and those before it have their sessions. It
// answers errMoved if not, or if the place is to name another session.
func (w *waiter) lookAgain(ctx context.Context, v *view) error {
	if w.on.retired.Load() || w.on.worn(driver.Now()) {
		return errMoved
	}
	ids := v.before.sessionsOfAFew()
	t, err := w.e.txn(ctx, nil, append(w.e.opSessions(ids), opRange(w.span)), nil)
	if err != nil {
		return noEffect(err)
	}
	l := readLine(t.Responses[len(ids)].GetResponseRange().Kvs)
	same := func(p place) bool { return p.path == v.place.path && p.modified == v.place.modified }
	at := slices.IndexFunc(l, same)
	if !v.still(l) || at < 0 || len(l[:at].without(ids, t.Responses)) > 0 {
		return errMoved
	}
	v.revision, v.before = t.Header.Revision, l[:at]
	if v.inspected == 0 && len(v.sessions) > 0 {
		v.inspected = t.Header.Revision
	}
	return nil
}

// watchSessions says when one of the sessions in a view has ended. It returns nil before anybody has looked for them.
func (w *waiter) watchSessions(ctx context.Context, v view) <-chan struct{} {
	if v.inspected == 0 {
		return nil
	}
	ended := make(chan struct{}, 1)
	for _, id := range v.sessions {
		events := w.e.watches.Watch(ctx, w.e.keys.session(id), clientv3.WithRev(v.inspected+1), clientv3.WithFilterPut())
		w.e.background.Go(func() {
			for r := range events { // until ctx ends
				if len(r.Events) == 0 && r.Err() == nil {
					continue
				}
				select {
				case ended <- struct{}{}:
				default:
				}
			}
		})
	}
	return ended
}
