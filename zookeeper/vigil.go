package zookeeper

import (
	"context"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// vigil is one who waits at a place.
type vigil struct {
	e *Engine
	p *place
	// posts are what it watches.
	posts [3]post
}

// post is a node that is watched.
type post struct {
	path string
	spot *spot
}

// What the posts are. One who waits for a lock watches the one ahead of it. It watches the second, too: when that goes, it looks anew while the one
// ahead probably holds, and so knows that it will be its turn when that one goes. Then it watches its own place as well: as long as that is there, it
// needs no other look. One who waits for permits watches all places.
const (
	ahead = iota
	second
	own
)

// sleep returns when something has happened that may let in one who stands as the verdict says, or may have been missed. It reports true if it is
// sure that it is the one's turn. It answers errGone if a place has gone before it could be watched.
func (w *vigil) sleep(ctx context.Context, v verdict) (turn bool, err error) {
	if ready, err := w.watch(ctx, v); err != nil || ready {
		return false, gone(err)
	}
	pause := slowLook
	if v.left > 0 {
		pause = min(pause, v.left+time.Millisecond)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-w.fired(ahead):
	case <-w.fired(second):
		return false, nil
	case <-w.fired(own):
		return false, nil
	case <-timer.C:
		return false, w.lookAnew(ctx)
	case <-ctx.Done():
		return false, ctx.Err()
	case <-w.e.life.Done():
		return false, errClosed
	}
	return v.alone && w.posts[ahead].spot.event == zk.EventNodeDeleted && !hasFired(w.fired(own)), nil
}

// lookAnew has the server catch up for the next look. The first of all who wait keeps the session sure, so that a grant needs no other request.
func (w *vigil) lookAnew(ctx context.Context) error {
	is, half := w.e.client.halfSure()
	if is {
		return w.e.client.sync(ctx, w.p.parent)
	}
	if err := w.e.client.assure(ctx, driver.Now(), half); err != nil {
		return err
	}
	return w.e.confirm(ctx, w.p)
}

// watch sees to it that all that matters is watched. It reports true if it need not be, as something has happened already.
func (w *vigil) watch(ctx context.Context, v verdict) (ready bool, err error) {
	if v.ahead == "" {
		return w.watchAll(ctx, v)
	}
	if v.alone {
		if _, err := w.watchNode(ctx, own, w.p.name); err != nil {
			return false, err
		}
	}
	data, err := w.watchNode(ctx, ahead, v.ahead)
	if err != nil || v.doubt && recordOf(data).Shared {
		return true, err
	}
	w.posts[second] = post{}
	if v.second != "" {
		_, err = w.watchNode(ctx, second, v.second)
	}
	return false, err
}

// watchNode watches a place, and returns its data, unless it is watched already and nothing has happened to it.
func (w *vigil) watchNode(ctx context.Context, which int, name string) ([]byte, error) {
	path := w.p.parent + "/" + name
	if was := &w.posts[which]; was.path == path && !hasFired(was.spot.fired) {
		return nil, nil
	}
	data, s, err := w.e.client.watch(ctx, path)
	w.posts[which] = post{path, s}
	return data, err
}

// watchAll watches all places of the name. A place that is kept since the verdict is news, too: it has an end.
func (w *vigil) watchAll(ctx context.Context, v verdict) (ready bool, err error) {
	names, s, err := w.e.client.watchChildren(ctx, w.p.parent)
	w.posts[ahead] = post{w.p.parent, s}
	if err != nil {
		return true, err
	}
	seats, err := lineUp(names)
	at := find(seats, w.p.name)
	if err != nil || at < 0 {
		return true, err
	}
	now := judge(seats, at)
	return now.holds || !slices.Equal(now.kept, v.kept), nil
}

// fired is closed when something has happened to a post. It is nil if that is not watched.
func (w *vigil) fired(which int) <-chan struct{} {
	if w.posts[which].spot == nil {
		return nil
	}
	return w.posts[which].spot.fired
}

func hasFired(fired <-chan struct{}) bool {
	select {
	case <-fired:
		return true
	default:
		return false
	}
}
