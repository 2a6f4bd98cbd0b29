package etcd

import (
	"context"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// nearHead is the number of entries before a waiter up to which it watches the sessions of all of them, and not only of
// the last.
const nearHead = 2

// watchView is what a waiter watches of a name.
type watchView struct {
	keyRange
	revision     int64 // at which the queue was read
	onlyRemovals bool  // watch only removals
	oneKey       bool  // the range contains one key, and removals are all that matters
	// The end of one of the sessions ends the watch, too. They existed at revision sessionsSeenAt; 0 means that nobody
	// has checked them yet.
	sessions       []clientv3.LeaseID
	sessionsSeenAt int64
	// ownEntry is the waiter's own entry, and before are those before it.
	ownEntry entry
	before   queue
	// isCurrent is called with the queue when the watch has begun, if anything was written since it was read. It
	// returns false if there is nothing to watch any more.
	isCurrent func(queue) bool
	// onRemoved is called with all removals of one revision together. It returns false to go on watching. Without it,
	// every event ends the watch.
	onRemoved func([]*clientv3.Event) bool
}

// waitInQueue waits until the queue must be read again, mostly since the entry before the waiter's is gone: then the
// error is errQueueChanged. In a semaphore it may find out by itself that the entry is a holder's.
//
// Each waiter for a lock watches a single key, so that a change wakes one waiter: that of the entry before its own, and
// a reader that of the last writer before it, since a downgrade of that one frees the way, too. When the key is removed
// the waiter reads the queue: those before it may have left before their turn, and so may its own entry.
//
// A waiter for permits watches all removals of the name, so it always knows which entries are left. Removals arrive in
// the order in which they happened, and that of the waiter's own key would be among them. So the waiter's entry exists
// if its removal has not arrived before that of the last entry in its way, and the grant needs no further read. The
// grant is good for the entry's grace, counted by this process's clock from the moment at which the majority last
// confirmed the session: until then nobody removes the entry, except on purpose, as a lock can be removed from any
// holder.
//
// The entries in its way may belong to dead processes: sessionsSeenAt is the revision at which their sessions existed,
// or 0.
func (w *waiter) waitInQueue(ctx context.Context, q queue, revision, sessionsSeenAt int64) (g driver.Grant, err error) {
	at := q.indexOfOwner(w.owned.mark)
	ownEntry := q[at]
	v := watchView{
		revision: revision, onlyRemovals: w.Mode != driver.Shared, sessionsSeenAt: sessionsSeenAt,
		ownEntry: ownEntry, before: q[:at],
	}
	if w.Kind == driver.Lock {
		before := q[at-1]
		if v.oneKey = v.onlyRemovals; !v.oneKey {
			before = q[lastExclusive(q[:at])]
		}
		v.sessions = queue{before}.sessions()
		if v.oneKey && at <= nearHead {
			v.sessions = q[:at].sessions()
		}
		v.keyRange = before.ownRange()
		v.isCurrent = func(now queue) bool { return now.hasUnchanged(before) && now.indexOfOwner(w.owned.mark) >= 0 }
		return g, w.awaitChange(ctx, v)
	}
	v.keyRange, v.onlyRemovals, v.sessions = w.keyRange, true, q[:at].sessions()
	granted := false
	v.isCurrent = func(now queue) bool {
		q = now
		own, holds := q.findOwned(w.Kind, w.owned.mark)
		same := own != nil && own.created == ownEntry.created
		granted = same && holds
		return same && !holds
	}
	v.onRemoved = func(removed []*clientv3.Event) bool {
		for _, ev := range removed {
			q = slices.DeleteFunc(q, func(en entry) bool { return en.path == string(ev.Kv.Key) })
		}
		return !v.isCurrent(q)
	}
	if err = w.awaitChange(ctx, v); granted {
		return w.grantOwn(&ownEntry)
	}
	return g, err
}

// lastExclusive returns the index of the last exclusive entry in a queue, which keeps readers out.
func lastExclusive(q queue) int {
	for i, en := range slices.Backward(q) {
		if !en.state.isShared() {
			return i
		}
	}
	return 0
}

// awaitChange watches until the view has changed. The error is errQueueChanged then, and also if the queue must be read
// again for another reason: the watch broke, a session has ended, or the poll found a change.
//
// The watch begins at the current revision. If anything has happened since the queue was read, awaitChange reads it
// once more. A watch from the earlier revision would save that read, but it would be slow: a server sends events from
// before the start of a watch only every tenth of a second.
func (w *waiter) awaitChange(ctx context.Context, v watchView) error {
	watching, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer stop()
	var events <-chan clientv3.WatchResponse
	missed := false
	if v.oneKey {
		var leave func(missed bool)
		events, leave = w.e.removalWatches.use(v.from)
		defer func() { leave(missed) }()
	} else if events = w.watchRange(watching, stop, v); events == nil {
		return errQueueChanged
	}
	poll := time.NewTimer(w.untilPoll(v))
	defer poll.Stop()
	ended := w.watchSessions(watching, v)
	for {
		select {
		case <-ended:
			return errQueueChanged
		case r, ok := <-events:
			if !ok || r.Err() != nil {
				return w.pauseBeforePoll(ctx)
			}
			if r.Created && r.Header.Revision > v.revision {
				q, revision, err := w.fetchQueue(ctx, r.Header.Revision)
				if err != nil {
					return err
				}
				if !v.isCurrent(q) {
					return errQueueChanged
				}
				v.revision = revision
			}
			if v.isEndedBy(r.Events) {
				w.changedAt = r.Events[len(r.Events)-1].Kv.ModRevision
				return errQueueChanged
			}
		case <-poll.C:
			if err := w.poll(ctx, &v); err != nil {
				missed = true
				return err
			}
			if ended == nil {
				ended = w.watchSessions(watching, v)
			}
			poll.Reset(w.untilPoll(v))
		case <-w.session.gone:
			return errQueueChanged
		case <-ctx.Done():
			return ctx.Err()
		case <-w.e.ctx.Done():
			return errClosed
		}
	}
}

// watchRange begins a watch of a view's own. It returns nil if the server does not confirm it in time.
func (w *waiter) watchRange(watching context.Context, stop func(), v watchView) clientv3.WatchChan {
	opts := []clientv3.OpOption{clientv3.WithRange(v.to), clientv3.WithCreatedNotify()}
	if v.onlyRemovals {
		opts = append(opts, clientv3.WithFilterPut())
	}
	timeout := time.AfterFunc(w.e.requestTimeout, stop)
	events := w.e.watcher.Watch(watching, v.from, opts...)
	if !timeout.Stop() {
		return nil
	}
	return events
}

// isEndedBy reports whether events end the watch.
func (v watchView) isEndedBy(events []*clientv3.Event) bool {
	for len(events) > 0 && events[0].Kv.ModRevision <= v.revision { // the queue was read after this event
		events = events[1:]
	}
	if v.onRemoved == nil {
		return len(events) > 0
	}
	for len(events) > 0 { // events of one revision happened together
		n := 1
		for n < len(events) && events[n].Kv.ModRevision == events[0].Kv.ModRevision {
			n++
		}
		if v.onRemoved(removals(events[:n])) {
			return true
		}
		events = events[n:]
	}
	return false
}

func removals(events []*clientv3.Event) []*clientv3.Event {
	return slices.DeleteFunc(slices.Clone(events), func(ev *clientv3.Event) bool { return ev.Type != mvccpb.DELETE })
}

// pauseBeforePoll is called when a watch has ended. The pause keeps waiters from asking a cluster without a leader all
// at once.
func (w *waiter) pauseBeforePoll(ctx context.Context) error {
	select {
	case <-time.After(minBackoff):
	case <-ctx.Done():
	}
	return errQueueChanged
}
