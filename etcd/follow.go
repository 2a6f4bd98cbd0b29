package etcd

import (
	"context"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// near is before how many others a waiter follows the whole line.
const near = 2

// view is what of a name a waiter watches.
type view struct {
	span
	revision int64 // at which the line was read
	removals bool  // nothing else
	// sessions are those whose end is watched, too, from a revision on at which they were there; with 0, nobody has looked for them yet.
	sessions  []clientv3.LeaseID
	inspected int64
	// place is the waiter's own, and before those before it.
	place  place
	before line
	// still is told the line as it is when the watch has begun, if anything was written since it was read. It returns false if there is
	// nothing to watch any more.
	still func(line) bool
	// change is told what is removed, all that one revision did together. It returns false to go on watching. Without it, everything that
	// happens ends the watch.
	change func([]*clientv3.Event) bool
}

// follow waits until the place that was read in a line holds, or until the line must be read anew: then it answers errMoved.
//
// Whoever is about to be next watches all removals from the line, and so knows at each moment who is left of it. They come in the order in
// which they happened, and the own key is among them: it is there if its removal has not come before that of the last one who stood in the
// way. So the grant needs no other read. It is good for the grace of the place from when its session was last seen by the majority, by the clock
// of this process: nobody removes the place before, but on purpose, as a lock can be taken away from any holder.
//
// Whoever has others before itself for longer watches one key alone, so that a change wakes few: one without whose removal it cannot get
// in, or be about to be next. A reader waits for the last writer before it; that one may also be made shared.
//
// Those without whose removal it cannot go on may be dead: inspected is the revision at which their sessions were there, or 0.
func (w *waiter) follow(ctx context.Context, l line, revision, inspected int64) (g driver.Grant, err error) {
	at := l.find(w.m.mark)
	placed := l[at]
	v := view{span: w.span, revision: revision, removals: true, sessions: l[:at].sessions(), inspected: inspected, place: placed, before: l[:at]}
	granted := false
	v.still = func(now line) bool {
		l = now
		own, holds := l.owned(w.Kind, w.m.mark)
		same := own != nil && own.created == placed.created
		granted = same && holds
		return same && !holds
	}
	v.change = func(removed []*clientv3.Event) bool {
		for _, ev := range removed {
			l = slices.DeleteFunc(l, func(p place) bool { return p.path == string(ev.Kv.Key) })
		}
		return !v.still(l)
	}
	if w.Kind == driver.Lock && (w.Mode == driver.Shared || at > near) {
		before := l[max(0, at-near)]
		if w.Mode == driver.Shared {
			before = l[lastWriter(l[:at])]
		}
		v = view{span: before.alone(), revision: revision, removals: w.Mode != driver.Shared, sessions: line{before}.sessions(), inspected: inspected, place: placed, before: l[:at]}
		v.still = func(now line) bool { return now.has(before) && now.find(w.m.mark) >= 0 }
	}
	if err = w.await(ctx, v); granted {
		return w.grant(&placed)
	}
	return g, err
}

// lastWriter returns the index of the last place in a line that is not shared: one that keeps a reader out.
func lastWriter(l line) int {
	for i, p := range slices.Backward(l) {
		if !p.state.shared() {
			return i
		}
	}
	return 0
}

// await watches until the view has changed. It answers errMoved then, and also if anything else makes it necessary to look again: a watch
// that broke, a session that is gone, or a while without an event.
//
// The watch is of what happens from now on, and if anything has happened since the line was read, that is read once more. A watch from that
// revision on would save the read, but is slow: a server tells of what has happened before a watch begins only each tenth of a second.
func (w *waiter) await(ctx context.Context, v view) error {
	watching, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer stop()
	opts := []clientv3.OpOption{clientv3.WithRange(v.to), clientv3.WithCreatedNotify()}
	if v.removals {
		opts = append(opts, clientv3.WithFilterPut())
	}
	slow := time.AfterFunc(w.e.limit, stop) // the server confirms a watch
	events := w.e.watches.Watch(watching, v.from, opts...)
	if !slow.Stop() {
		return errMoved
	}
	look := time.NewTimer(w.untilLook(v))
	defer look.Stop()
	ended := w.watchSessions(watching, v)
	for {
		select {
		case <-ended:
			return errMoved
		case r, ok := <-events:
			switch {
			case !ok || r.Err() != nil:
				return w.lookSoon(ctx)
			case r.Created && r.Header.Revision > v.revision:
				l, revision, err := w.e.look(ctx, w.Key)
				if err != nil {
					return err
				}
				if !v.still(l) {
					return errMoved
				}
				v.revision = revision
			case v.seen(r.Events):
				return errMoved
			}
		case <-look.C:
			if err := w.lookAgain(ctx, &v); err != nil {
				return err
			}
			if ended == nil {
				ended = w.watchSessions(watching, v)
			}
			look.Reset(w.untilLook(v))
		case <-w.on.gone:
			return errMoved
		case <-ctx.Done():
			return ctx.Err()
		case <-w.e.life.Done():
			return errClosed
		}
	}
}

// seen reports whether events end the watch.
func (v view) seen(events []*clientv3.Event) bool {
	for len(events) > 0 && events[0].Kv.ModRevision <= v.revision { // the line was read after it
		events = events[1:]
	}
	if v.change == nil {
		return len(events) > 0
	}
	for len(events) > 0 { // those of one revision happened together
		n := 1
		for n < len(events) && events[n].Kv.ModRevision == events[0].Kv.ModRevision {
			n++
		}
		if v.change(removals(events[:n])) {
			return true
		}
		events = events[n:]
	}
	return false
}

func removals(events []*clientv3.Event) []*clientv3.Event {
	return slices.DeleteFunc(slices.Clone(events), func(ev *clientv3.Event) bool { return ev.Type != mvccpb.DELETE })
}

// lookSoon is what a waiter does whose watch has ended: it looks again, after a pause that keeps a cluster without a leader from being
// asked by all at once.
func (w *waiter) lookSoon(ctx context.Context) error {
	select {
	case <-time.After(firstPause):
	case <-ctx.Done():
	}
	return errMoved
}
