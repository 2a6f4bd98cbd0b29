package etcd

import (
	"context"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// nearHead is the number of entries before a waiter up to which it watches the whole queue.
const nearHead = 2

// watchView is what a waiter watches of a name.
type watchView struct {
	keyRange
	revision     int64 // at which the queue was read
	onlyRemovals bool  // watch only removals
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

// waitInQueue waits until the entry is a holder's, or until the queue must be read again: then the error is
// errQueueChanged.
//
// A waiter that is about to be next watches all removals of the name, so it always knows which entries are left.
// Removals arrive in the order in which they happened, and that of the waiter's own key would be among them. So the
// waiter's entry exists if its removal has not arrived before that of the last entry in its way, and the grant needs no
// further read. The grant is good for the entry's grace, counted by this process's clock from the moment at which the
// majority last confirmed the session: until then nobody removes the entry, except on purpose, as a lock can be removed
// from any holder.
//
// A waiter further behind watches a single key, so that a change wakes few waiters: a key without whose removal the
// waiter cannot become a holder, or be about to be next. A reader waits for the last writer before it; a downgrade of
// that one frees the way, too.
//
// The entries in its way may belong to dead processes: sessionsSeenAt is the revision at which their sessions existed,
// or 0.
func (w *waiter) waitInQueue(ctx context.Context, q queue, revision, sessionsSeenAt int64) (g driver.Grant, err error) {
	at := q.indexOfOwner(w.owned.mark)
	ownEntry := q[at]
	v := watchView{
		keyRange: w.keyRange, revision: revision, onlyRemovals: true,
		sessions: q[:at].sessions(), sessionsSeenAt: sessionsSeenAt, ownEntry: ownEntry, before: q[:at],
	}
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
	if w.Kind == driver.Lock && (w.Mode == driver.Shared || at > nearHead) {
		before := q[max(0, at-nearHead)]
		if w.Mode == driver.Shared {
			before = q[lastExclusive(q[:at])]
		}
		v = watchView{
			keyRange: before.ownRange(), revision: revision, onlyRemovals: w.Mode != driver.Shared,
			sessions: queue{before}.sessions(), sessionsSeenAt: sessionsSeenAt, ownEntry: ownEntry, before: q[:at],
		}
		v.isCurrent = func(now queue) bool { return now.hasUnchanged(before) && now.indexOfOwner(w.owned.mark) >= 0 }
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
	opts := []clientv3.OpOption{clientv3.WithRange(v.to), clientv3.WithCreatedNotify()}
	if v.onlyRemovals {
		opts = append(opts, clientv3.WithFilterPut())
	}
	timeout := time.AfterFunc(w.e.requestTimeout, stop) // for the server to confirm the watch
	events := w.e.watcher.Watch(watching, v.from, opts...)
	if !timeout.Stop() {
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
			switch {
			case !ok || r.Err() != nil:
				return w.pauseBeforePoll(ctx)
			case r.Created && r.Header.Revision > v.revision:
				q, revision, err := w.e.fetchQueue(ctx, w.Key)
				if err != nil {
					return err
				}
				if !v.isCurrent(q) {
					return errQueueChanged
				}
				v.revision = revision
			case v.isEndedBy(r.Events):
				return errQueueChanged
			}
		case <-poll.C:
			if err := w.poll(ctx, &v); err != nil {
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
