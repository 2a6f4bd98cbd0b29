package zookeeper

import (
	"context"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// waiter waits at an entry.
type waiter struct {
	engine *Engine
	node   *ownedNode
	// watched are the nodes that it watches.
	watched [3]watchedNode
}

// watchedNode is a node and its watch.
type watchedNode struct {
	path  string
	watch *watch
}

// The indexes of waiter.watched. A waiter for a lock watches its blocker, and the second blocker too: when that one
// goes, the waiter reads the queue while the blocker probably still holds, and so learns that it will be next. Then it
// watches its own entry as well: as long as that exists, it need not read the queue again when the blocker goes. A
// waiter for permits watches all entries.
const (
	watchBlocker = iota
	watchSecond
	watchOwn
)

// awaitChange returns when something has happened that may make the waiter a holder, or that may have been missed. It
// reports true if it is certainly the waiter's turn. It returns errGone if an entry has gone before it could be
// watched.
func (w *waiter) awaitChange(ctx context.Context, pos position) (turn bool, err error) {
	if ready, err := w.setWatches(ctx, pos); err != nil || ready {
		return false, asGone(err)
	}
	pause := pollInterval
	if pos.keptFor > 0 {
		pause = min(pause, pos.keptFor+time.Millisecond)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-w.fired(watchBlocker):
	case <-w.fired(watchSecond):
		return false, nil
	case <-w.fired(watchOwn):
		return false, nil
	case <-timer.C:
		return false, w.syncForNextRead(ctx)
	case <-ctx.Done():
		return false, ctx.Err()
	case <-w.engine.ctx.Done():
		return false, errClosed
	}
	gone := w.watched[watchBlocker].watch.event == zk.EventNodeDeleted
	return pos.soleBlocker && gone && !hasFired(w.fired(watchOwn)), nil
}

// syncForNextRead makes the server catch up before the queue is read again. A waiter that finds the session certain for
// less than half of its time makes it certain again, so that a grant needs no other request.
func (w *waiter) syncForNextRead(ctx context.Context) error {
	is, half := w.engine.client.hasHalfLeft()
	if is {
		return w.engine.client.sync(ctx, w.node.parent)
	}
	if err := w.engine.client.ensureSession(ctx, driver.Now(), half); err != nil {
		return err
	}
	return w.engine.confirmOwn(ctx, w.node)
}

// setWatches makes sure that everything that matters is watched. It reports true if something has happened already.
func (w *waiter) setWatches(ctx context.Context, pos position) (ready bool, err error) {
	if pos.blocker == "" {
		return w.watchAll(ctx, pos)
	}
	if pos.soleBlocker {
		if _, err := w.watchNode(ctx, watchOwn, w.node.name); err != nil {
			return false, err
		}
	}
	data, err := w.watchNode(ctx, watchBlocker, pos.blocker)
	if err != nil || pos.holdsIfDowngraded && readRecord(data).Shared {
		return true, err
	}
	w.watched[watchSecond] = watchedNode{}
	if pos.secondBlocker != "" {
		_, err = w.watchNode(ctx, watchSecond, pos.secondBlocker)
	}
	return false, err
}

// watchNode watches an entry and returns its data, unless it is watched already and has not changed.
func (w *waiter) watchNode(ctx context.Context, which int, name string) ([]byte, error) {
	path := w.node.parent + "/" + name
	if was := &w.watched[which]; was.path == path && !hasFired(was.watch.fired) {
		return nil, nil
	}
	data, watching, err := w.engine.client.watch(ctx, path)
	w.watched[which] = watchedNode{path, watching}
	return data, err
}

// watchAll watches all entries of the name. A lock that was kept since the queue was read is a change, too: its time
// will end.
func (w *waiter) watchAll(ctx context.Context, pos position) (ready bool, err error) {
	names, watching, err := w.engine.client.watchChildren(ctx, w.node.parent)
	w.watched[watchBlocker] = watchedNode{w.node.parent, watching}
	if err != nil {
		return true, err
	}
	entries, err := sortQueue(names)
	at := indexOf(entries, w.node.name)
	if err != nil || at < 0 {
		return true, err
	}
	now := positionOf(entries, at)
	return now.holds || !slices.Equal(now.keptBefore, pos.keptBefore), nil
}

// fired returns a channel that is closed when a watched node has changed. It is nil if that node is not watched.
func (w *waiter) fired(which int) <-chan struct{} {
	if w.watched[which].watch == nil {
		return nil
	}
	return w.watched[which].watch.fired
}

func hasFired(fired <-chan struct{}) bool {
	select {
	case <-fired:
		return true
	default:
		return false
	}
}
