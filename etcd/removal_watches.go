package etcd

import (
	"context"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/internal/overdue"
)

const (
	// watchKeptFor is how long a watch goes on that nobody uses.
	watchKeptFor = contendedFor
	// maxUnusedWatches limits the watches that go on although nobody uses them.
	maxUnusedWatches = 256
	// maxVainEvents is how many events in a row an unused watch may get before it ends.
	maxVainEvents = 3
)

// removalWatches watches single keys for their removal, each for all waiters of this engine that the key is in the way
// of.
//
// A watch goes on for a while without them. Where the same processes want a name again and again, a waiter comes behind
// the same one each time, and etcd keys are used again. So most turns begin no watch. That saves more than messages:
// after a watch has begun the queue has to be read once more, since something may have happened before.
type removalWatches struct {
	engine *Engine
	unused *overdue.Deadlines[*removalWatch] // when each of them ends

	mu     sync.Mutex
	byPath map[string]*removalWatch
	closed bool
}

// removalWatch is a watch of one key. Its fields are guarded by removalWatches.mu.
type removalWatch struct {
	path       string
	stop       context.CancelFunc
	begunAt    int64 // it sees all removals after this revision; 0 until the server has said so
	removedAt  int64 // the revision of the last removal that it has seen, or 0
	vainEvents int   // events that came since nobody uses it
	users      []chan clientv3.WatchResponse
}

func (ws *removalWatches) init(e *Engine) {
	ws.engine, ws.byPath = e, make(map[string]*removalWatch)
	ws.unused = overdue.New(ws.endUnused)
}

// beginClose makes later calls of use get a watch that has ended.
func (ws *removalWatches) beginClose() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.closed = true
}

// use returns what is seen of a key, as a new watch that reports its beginning would. A watch that has been going on
// reports when it began, which may be long ago, and the last removal since. The channel is closed when the watch has
// ended. Call leave when it is not needed any more, and say whether the watch has missed something.
func (ws *removalWatches) use(path string) (events <-chan clientv3.WatchResponse, leave func(missed bool)) {
	const maxPending = 4 // nobody stays after the first event that matters
	user := make(chan clientv3.WatchResponse, maxPending)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.closed {
		close(user)
		return user, func(bool) {}
	}
	w := ws.byPath[path]
	if w == nil {
		ctx, stop := context.WithCancel(clientv3.WithRequireLeader(ws.engine.ctx))
		w = &removalWatch{path: path, stop: stop}
		ws.byPath[path] = w
		ws.engine.background.Go(func() { ws.run(ctx, w) })
	}
	ws.unused.Remove(w)
	w.vainEvents, w.users = 0, append(w.users, user)
	if w.begunAt > 0 {
		user <- w.pastEvents()
	}
	return user, func(missed bool) { ws.leave(w, user, missed) }
}

// pastEvents returns when the watch began, and the last removal that it has seen.
func (w *removalWatch) pastEvents() clientv3.WatchResponse {
	r := clientv3.WatchResponse{Created: true, Header: &pb.ResponseHeader{Revision: w.begunAt}}
	if w.removedAt > 0 {
		kv := &mvccpb.KeyValue{Key: []byte(w.path), ModRevision: w.removedAt}
		r.Events = []*clientv3.Event{{Type: mvccpb.DELETE, Kv: kv}}
	}
	return r
}

// leave ends what use began.
func (ws *removalWatches) leave(w *removalWatch, user chan clientv3.WatchResponse, missed bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if i := slices.Index(w.users, user); i >= 0 {
		w.users = slices.Delete(w.users, i, i+1)
	}
	switch {
	case missed:
		ws.endLocked(w)
	case len(w.users) > 0 || ws.byPath[w.path] != w:
	case ws.closed || ws.unused.Len() >= maxUnusedWatches:
		ws.endLocked(w)
	default:
		ws.unused.Set(w, time.Now().Add(watchKeptFor))
	}
}

// endUnused ends watches that nobody has used for a while.
func (ws *removalWatches) endUnused(due []*removalWatch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range due {
		if len(w.users) == 0 {
			ws.endLocked(w)
		}
	}
}

// endLocked ends a watch, and tells its users. mu is held.
func (ws *removalWatches) endLocked(w *removalWatch) {
	w.stop()
	ws.unused.Remove(w)
	if ws.byPath[w.path] == w {
		delete(ws.byPath, w.path)
	}
	for _, user := range w.users {
		close(user)
	}
	w.users = nil
}

// run watches until the watch ends, for whatever reason.
func (ws *removalWatches) run(ctx context.Context, w *removalWatch) {
	defer func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		ws.endLocked(w)
	}()
	timeout := time.AfterFunc(ws.engine.requestTimeout, w.stop) // for the server to confirm the watch
	events := ws.engine.watcher.Watch(ctx, w.path, clientv3.WithCreatedNotify(), clientv3.WithFilterPut())
	if !timeout.Stop() {
		return
	}
	for r := range events {
		if r.Err() != nil || !ws.note(w, r) {
			return
		}
	}
}

// note takes in what the server has sent, and passes it on. It returns false if the watch is to end.
func (ws *removalWatches) note(w *removalWatch, r clientv3.WatchResponse) (goesOn bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if r.Created {
		w.begunAt = r.Header.Revision
	}
	for _, ev := range r.Events {
		w.removedAt = ev.Kv.ModRevision
	}
	if len(w.users) == 0 && len(r.Events) > 0 {
		w.vainEvents++
		return w.vainEvents < maxVainEvents
	}
	w.users = slices.DeleteFunc(w.users, func(user chan clientv3.WatchResponse) bool {
		select {
		case user <- r:
			return false
		default:
			close(user) // it reads the queue instead
			return true
		}
	})
	return true
}
