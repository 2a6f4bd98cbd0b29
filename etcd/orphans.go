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

// An entry whose session has ended is an orphan. Its owner may still live and believe that it is the holder, but only
// until its grace has passed: the owner counts from the last moment at which the majority confirmed the session.
// (Chubby's lock-delay serves the same purpose.) A client that finds an orphan in its way gets an etcd lease for the
// time of the grace, which nobody keeps alive, and attaches the entry to it unless the entry has changed. So the
// cluster itself counts the time and removes the entry, even if that client is gone by then. An owner that still lives
// names a new session, which detaches the entry from that etcd lease again. The majority decides which of the two came
// first.

const (
	// minGrace leaves holders time that were granted a short lease after a wait.
	minGrace = 4 * time.Second
	// orphanCheckDelay is how long a waiter waits before it checks the sessions of those before it.
	orphanCheckDelay = time.Second
	// orphanCheckInterval is how often takes that do not wait check the sessions of a name.
	orphanCheckInterval = time.Second
)

// graceFor returns the grace of an entry with a lease of a ttl.
func graceFor(ttl time.Duration) time.Duration { return max(ttl, minGrace) }

// certainSeconds returns for how many seconds to request an etcd lease that must last for d by any clock.
func certainSeconds(d time.Duration) int64 { return wholeSeconds(d + d/64 + 5*time.Millisecond) }

// sessions returns the sessions that the entries name, each once.
func (q queue) sessions() (all []clientv3.LeaseID) {
	known := make(map[clientv3.LeaseID]bool)
	for _, en := range q {
		if en.session != 0 && !known[en.session] {
			known[en.session] = true
			all = append(all, en.session)
		}
	}
	return all
}

// firstSessions returns as many of them as one transaction can read: servers allow 128 operations.
func (q queue) firstSessions() []clientv3.LeaseID {
	const maxSessions = 120
	ids := q.sessions()
	return ids[:min(len(ids), maxSessions)]
}

// findOrphans returns the entries of a queue whose session has ended, and the revision at which the other sessions
// existed.
func (e *Engine) findOrphans(ctx context.Context, q queue) (some queue, revision int64, err error) {
	ids := q.firstSessions()
	if len(ids) == 0 {
		return nil, 0, nil
	}
	t, err := e.txn(ctx, nil, e.opSessions(ids), nil)
	if err != nil {
		return nil, 0, noEffect(err)
	}
	return q.withGoneSessions(ids, t.Responses), t.Header.Revision, nil
}

// opSessions reads the keys of sessions.
func (e *Engine) opSessions(ids []clientv3.LeaseID) []*pb.RequestOp {
	reads := make([]*pb.RequestOp, len(ids))
	for i, id := range ids {
		reads[i] = opKey(e.keys.sessionPath(id))
	}
	return reads
}

// withGoneSessions returns the entries whose session has ended, according to what was read of the sessions.
func (q queue) withGoneSessions(ids []clientv3.LeaseID, read []*pb.ResponseOp) (some queue) {
	gone := make(map[clientv3.LeaseID]bool)
	for i, id := range ids {
		gone[id] = len(read[i].GetResponseRange().Kvs) == 0
	}
	for _, en := range q {
		if gone[en.session] {
			some = append(some, en)
		}
	}
	return some
}

// expireOrphans makes the cluster remove orphans when their grace has passed.
func (e *Engine) expireOrphans(ctx context.Context, orphans queue) error {
	leases := make(map[int64]clientv3.LeaseID)
	for _, en := range orphans {
		seconds := certainSeconds(en.grace)
		if leases[seconds] == 0 {
			lease, _, err := e.grantEtcdLease(ctx, seconds)
			if err != nil {
				return err
			}
			leases[seconds] = lease
		}
		put := opPut(en.path, en.record.withoutSession(), leases[seconds])
		if _, err := e.txn(ctx, all(en.compareUnchanged()), ops(put), nil); err != nil {
			return noEffect(err) // no matter whether it was done: the next check finds out
		}
	}
	return nil
}

// expireOrphansSometimes expires the orphans of a queue for a take that was refused and does not wait. It does so at
// most once in each orphanCheckInterval.
func (e *Engine) expireOrphansSometimes(ctx context.Context, k driver.Key, q queue) {
	if !e.orphanChecks.claim(k) {
		return
	}
	if orphans, _, err := e.findOrphans(ctx, q); err == nil {
		_ = e.expireOrphans(ctx, orphans) // the next take tries again
	}
}

// orphanChecks notes when the orphans of each name were last looked for.
type orphanChecks struct {
	mu   sync.Mutex
	last map[driver.Key]time.Time
}

// claim reports whether it is time to look for orphans, and if so notes that the caller does it.
func (ls *orphanChecks) claim(k driver.Key) bool {
	const maxNames = 1000 // names that are remembered
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if last, some := ls.last[k]; some && time.Since(last) < orphanCheckInterval {
		return false
	}
	if ls.last == nil || len(ls.last) >= maxNames {
		ls.last = make(map[driver.Key]time.Time)
	}
	ls.last[k] = time.Now()
	return true
}

// expireOrphansBefore expires the orphans before a waiter that has waited for orphanCheckDelay. It returns the revision
// at which the other sessions existed, or 0 if it is too early to check.
func (w *waiter) expireOrphansBefore(ctx context.Context, before queue) (revision int64, err error) {
	if time.Since(w.startedAt) < orphanCheckDelay {
		return 0, nil
	}
	orphans, revision, err := w.e.findOrphans(ctx, before)
	if err != nil {
		return 0, err
	}
	return max(revision, 1), w.e.expireOrphans(ctx, orphans)
}

// untilPoll returns how long a waiter waits before it reads the queue without having been notified.
func (w *waiter) untilPoll(v watchView) time.Duration {
	if v.sessionsSeenAt == 0 && len(v.sessions) > 0 {
		return max(orphanCheckDelay-time.Since(w.startedAt), minBackoff)
	}
	return pollInterval
}

// poll checks for a waiter that goes on to watch, with one request, whether the queue is as the waiter knows it and the
// sessions before it exist. The error is errQueueChanged if not, or if the waiter has to name another session.
func (w *waiter) poll(ctx context.Context, v *watchView) error {
	if w.session.retired.Load() || w.session.isWorn(driver.Now()) {
		return errQueueChanged
	}
	ids := v.before.firstSessions()
	t, err := w.e.txn(ctx, nil, append(w.e.opSessions(ids), opRange(w.keyRange)), nil)
	if err != nil {
		return noEffect(err)
	}
	q := readQueue(t.Responses[len(ids)].GetResponseRange().Kvs)
	same := func(en entry) bool { return en.path == v.ownEntry.path && en.modified == v.ownEntry.modified }
	at := slices.IndexFunc(q, same)
	if !v.isCurrent(q) || at < 0 || len(q[:at].withGoneSessions(ids, t.Responses)) > 0 {
		return errQueueChanged
	}
	v.revision, v.before = t.Header.Revision, q[:at]
	if v.sessionsSeenAt == 0 && len(v.sessions) > 0 {
		v.sessionsSeenAt = t.Header.Revision
	}
	return nil
}

// watchSessions returns a channel that is sent to when one of the view's sessions has ended. It returns nil until the
// sessions have been checked.
func (w *waiter) watchSessions(ctx context.Context, v watchView) <-chan struct{} {
	if v.sessionsSeenAt == 0 {
		return nil
	}
	ended := make(chan struct{}, 1)
	for _, id := range v.sessions {
		events := w.e.watcher.Watch(ctx, w.e.keys.sessionPath(id),
			clientv3.WithRev(v.sessionsSeenAt+1), clientv3.WithFilterPut())
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
