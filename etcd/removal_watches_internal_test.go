package etcd

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// endWait ends a Wait that nobody has been granted.
func endWait(t *testing.T, cancel func(), done chan waitResult) {
	t.Helper()
	cancel()
	if a := <-done; !errors.Is(a.err, context.Canceled) {
		t.Errorf("it returned %+v", a)
	}
}

// beginWatch lets a waiter wait behind "first", and the watch begin at a revision.
func beginWatch(t *testing.T, f *fake, e *Engine, revision int64) (cancel func(), done chan waitResult) {
	t.Helper()
	f.setQueue("first", "own")
	ctx, cancel := context.WithCancel(t.Context())
	done = startWait(ctx, e)
	<-f.watches
	f.send(clientv3.WatchResponse{Created: true, Header: &pb.ResponseHeader{Revision: revision}})
	synctest.Wait()
	return cancel, done
}

// A waiter that comes behind the same entry as one before it begins no watch of its own, and gets the removals of the
// one that goes on.
func TestWatchIsUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		cancel, done := beginWatch(t, f, e, 4)
		endWait(t, cancel, done)
		for range 3 {
			time.Sleep(watchKeptFor - time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			done := startWait(ctx, e)
			synctest.Wait()
			endWait(t, cancel, done)
		}
		done = startWait(t.Context(), e)
		synctest.Wait()
		f.setQueue("", "own")
		f.setRevision(9)
		f.sendRemovals("first", 9)
		if a := <-done; a.err != nil || a.grant.Token != 2 {
			t.Errorf("it returned %+v", a)
		}
		if n := len(f.watches); n > 0 {
			t.Errorf("%d more watches have begun", n)
		}
	})
}

// A removal that a watch has seen after the queue was read, and before the waiter came to use it, is not missed. One
// from before that is ignored.
func TestRemovalBeforeAWatchIsUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		removedAt int
		granted   bool
	}{"after the read": {6, true}, "before the read": {5, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, e := newFakeEngine(t)
				cancel, done := beginWatch(t, f, e, 4)
				endWait(t, cancel, done)
				f.sendRemovals("first", c.removedAt)
				synctest.Wait()
				stands := f.reads
				reads := 0
				f.setQueue("", "own")
				now := f.reads
				f.reads = func(r *pb.RangeRequest) *pb.RangeResponse {
					if reads++; reads == 1 {
						return stands(r) // at revision 5
					}
					return now(r)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began := time.Now()
				done = startWait(ctx, e)
				synctest.Wait()
				if granted := len(done) == 1 && time.Since(began) == 0; granted != c.granted {
					t.Errorf("it has returned: %v", granted)
				}
				cancel()
				<-done
			})
		})
	}
}

// watchesOf returns how many watches go on.
func watchesOf(e *Engine) int {
	e.removalWatches.mu.Lock()
	defer e.removalWatches.mu.Unlock()
	return len(e.removalWatches.byPath)
}

// A watch that nobody uses ends after a while, and when it gets events that nobody waits for. One that somebody uses
// again in time goes on.
func TestUnusedWatchEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(f *fake)
		goesOn    int
	}{
		"after a while":             {func(*fake) { time.Sleep(watchKeptFor + time.Second) }, 0},
		"not before":                {func(*fake) { time.Sleep(watchKeptFor - time.Second) }, 1},
		"after events for nobody":   {func(f *fake) { sendVainEvents(f, maxVainEvents) }, 0},
		"not after a few of them":   {func(f *fake) { sendVainEvents(f, maxVainEvents-1) }, 1},
		"when the server ends it":   {func(f *fake) { f.send(clientv3.WatchResponse{Canceled: true}) }, 0},
		"when the connection fails": {func(f *fake) { close(f.watch) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, e := newFakeEngine(t)
				for range 2 {
					_, leave := e.removalWatches.use("path")
					time.Sleep(watchKeptFor - time.Second)
					leave(false)
				}
				<-f.watches
				c.meanwhile(f)
				synctest.Wait()
				if n := watchesOf(e); n != c.goesOn {
					t.Errorf("%d watches go on, want %d", n, c.goesOn)
				}
			})
		})
	}
}

func sendVainEvents(f *fake, n int) {
	for i := range n {
		f.sendRemovals("first", 10+i)
	}
}

// A watch that its users do not listen to does not wait for them.
func TestWatchDoesNotWaitForItsUsers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		slow, leave := e.removalWatches.use("path")
		defer leave(false)
		<-f.watches
		sendVainEvents(f, 6)
		synctest.Wait()
		n := 0
		for range slow { // until it is closed
			n++
		}
		if n == 0 || n == 6 {
			t.Errorf("it got %d events before it was left out", n)
		}
	})
}

// After Close nothing is watched.
func TestWatchAfterClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, e := newFakeEngine(t)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		events, leave := e.removalWatches.use("path")
		if _, open := <-events; open {
			t.Error("there are events")
		}
		leave(false)
	})
}

// However many watches were used, only so many go on.
func TestUnusedWatchesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		for i := range maxUnusedWatches + 10 {
			_, leave := e.removalWatches.use(fmt.Sprint(i))
			<-f.watches
			leave(false)
		}
		if n := watchesOf(e); n != maxUnusedWatches {
			t.Errorf("%d go on, want %d", n, maxUnusedWatches)
		}
	})
}

// A waiter whose poll finds what its watch has not told begins another watch the next time.
func TestWatchThatMissesSomethingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		cancel, done := beginWatch(t, f, e, 4)
		defer cancel()
		f.setQueue("", "own")
		if a := <-done; a.err != nil || a.grant.Token != 2 {
			t.Errorf("it returned %+v", a)
		}
		synctest.Wait()
		if n := watchesOf(e); n > 0 {
			t.Errorf("%d watches go on", n)
		}
	})
}
