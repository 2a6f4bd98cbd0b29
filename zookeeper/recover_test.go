package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// loseTake makes an engine forget an entry, as if the answer to the take had been lost.
func loseTake(e *Engine, r driver.Request) {
	key := ownerKey{r.Key, ownerID(r.Owner)}
	node, _ := e.owned.find(key)
	e.forget(node)
	e.owned.noteUnknown(key)
}

// A take whose answer was lost is found again, and not done twice.
func TestLostTakeIsFoundAgain(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r := lock(t, "held")
	g := mustTake(t, e, r)
	loseTake(e, r)
	if again := mustTake(t, e, r); again.Token != g.Token {
		t.Errorf("the token is %d, and was %d", again.Token, g.Token)
	}
	if n := len(nodes(t, e, r.Key)); n != 1 {
		t.Errorf("there are %d entries, want one", n)
	}
	if err := renewOne(t, e, r); err != nil {
		t.Errorf("Renew: %v", err)
	}

	queued := join(t, e, lock(t, "held"))
	loseTake(e, queued)
	join(t, e, queued)
	if n := len(nodes(t, e, r.Key)); n != 2 {
		t.Errorf("there are %d entries, want two", n)
	}
	done := waitFor(t.Context(), e, queued)
	mustRelease(t, e, r)
	if w := <-done; w.err != nil {
		t.Error(w.err)
	}
	mustRelease(t, e, queued)
	if n := len(nodes(t, e, r.Key)); n != 0 {
		t.Errorf("there are %d entries, want none", n)
	}
}

// A late take that arrives while its owner's next one checks whether the name is free does not make that one fail.
func TestLateTakeDoesNotBlockItsOwner(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r := lock(t, "a")
	g := mustTake(t, e, r)
	loseTake(e, r)
	node, err := e.checkBeforeCreate(t.Context(), &r, ownerKey{r.Key, ownerID(r.Owner)}, true)
	if err != nil || node == nil || node.token != g.Token {
		t.Errorf("it is %+v, %v, want the entry with token %d", node, err, g.Token)
	}
	other := lock(t, "a")
	node, err = e.checkBeforeCreate(t.Context(), &other, ownerKey{other.Key, ownerID(other.Owner)}, true)
	if !errors.Is(err, driver.ErrHeld) {
		t.Errorf("another: %+v, %v", node, err)
	}
	mustRelease(t, e, r)
}

// An entry that is about to be removed, because it has expired or there is an earlier one, is not found again: it would
// go while its owner holds.
func TestNodeBeingRemovedIsNotFoundAgain(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	held := lock(t, "a")
	mustTake(t, other, held)
	r := join(t, e, lock(t, "a"))
	key := ownerKey{r.Key, ownerID(r.Owner)}
	e.owned.noteUnknown(key)
	node, _ := e.owned.find(key)
	e.owned.mu.Lock()
	node.end = time.Now()
	e.owned.mu.Unlock()
	if over, _ := e.beginExpiry(node); !over {
		t.Fatal("its time is not over")
	}
	again := join(t, e, r) // before the removal arrives
	if now, _ := e.owned.find(key); now == nil || now.name == node.name {
		t.Fatalf("the entry is %+v, and %+v goes", now, node)
	}
	if err := e.removeNode(t.Context(), node.parent, node.name, true); err != nil { // now it does
		t.Fatal(err)
	}
	done := waitFor(t.Context(), e, again)
	mustRelease(t, other, held)
	if w := <-done; w.err != nil {
		t.Fatal(w.err)
	}
	if err := renewOne(t, e, again); err != nil {
		t.Errorf("Renew: %v", err)
	}
	mustRelease(t, e, again)

	first, err := e.takeFree(t.Context(), &r, key)
	if err != nil {
		t.Fatal(err)
	}
	e.deadlines.Close() // so that the removal does not arrive
	e.scheduleRemoval(first)
	e.forget(first)
	if node, err := e.findUnanswered(t.Context(), &r, key); node != nil || err != nil {
		t.Errorf("found %+v, %v", node, err)
	}
}

// A take of unknown outcome can be released.
func TestLostTakeIsReleased(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, e, r)
	loseTake(e, r)
	if _, err := other.Take(t.Context(), lock(t, "a")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take of what is held: %v", err)
	}
	mustRelease(t, e, r)
	mustTake(t, other, lock(t, "a"))

	r = lock(t, "kept")
	g := mustTake(t, e, r)
	loseTake(e, r)
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r), Keep: time.Minute}); err != nil {
		t.Fatal(err)
	}
	list, err := other.List(t.Context(), driver.Query{Name: r.Name})
	if err != nil || len(list) != 1 || list[0].Holders[0].Token != g.Token {
		t.Errorf("listed %+v, %v, want the kept lock with token %d", list, err, g.Token)
	}
}

// A take that arrives twice, since its first request arrives after it was given up, leaves no second entry behind.
func TestTakeThatArrivesTwiceIsReleasedCompletely(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r := lock(t, "a")
	g := mustTake(t, e, r)
	key := ownerKey{r.Key, ownerID(r.Owner)}
	if node, _, err := e.createNode(t.Context(), &r, key, false); err != nil || node.token != g.Token {
		t.Fatalf("it has %+v, %v, want the entry with token %d", node, err, g.Token)
	}
	if _, doubt := e.owned.find(key); !doubt {
		t.Error("a release would not look for more")
	}
	mustRelease(t, e, r)
	if n := len(nodes(t, e, r.Key)); n != 0 {
		t.Errorf("there are %d entries, want none", n)
	}
}

// A take that arrives twice does not block itself: the earlier entry is the owner's, and the later one is removed.
func TestTakeThatArrivesTwiceDoesNotBlockItself(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	held := lock(t, "a")
	mustTake(t, other, held)
	key := ownerKey{r.Key, ownerID(r.Owner)}
	first, _, err := e.createNode(t.Context(), &r, key, false) // nobody waits for it
	if err != nil {
		t.Fatal(err)
	}
	second, err := e.join(t.Context(), &r, key)
	if err != nil || second != first {
		t.Fatalf("it has %+v, %v, want %+v", second, err, first)
	}
	eventually(t, "the later entry is gone", func() bool { return len(nodes(t, e, r.Key)) == 2 })
	done := waitFor(t.Context(), e, r)
	mustRelease(t, other, held)
	if w := <-done; w.err != nil || w.grant.Token != first.token {
		t.Errorf("granted %+v, %v, want token %d", w.grant, w.err, first.token)
	}
	mustRelease(t, e, r)
}

// An entry that is alone below the node of the name proves that an earlier one of its owner is gone.
func TestNodeThatIsAloneProvesThatAnEarlierOneIsGone(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r := lock(t, "a")
	key := ownerKey{r.Key, ownerID(r.Owner)}
	first, err := e.takeFree(t.Context(), &r, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.removeNode(t.Context(), first.parent, first.name, false); err != nil { // by somebody else
		t.Fatal(err)
	}
	second, err := e.takeFree(t.Context(), &r, key)
	if err != nil || second == first {
		t.Fatalf("it has %+v, %v, and had %+v", second, err, first)
	}
	if g, err := e.noteGranted(second, r.TTL, driver.Now()); err != nil || g.Token <= first.token {
		t.Errorf("granted %+v, %v", g, err)
	}
	if _, err := e.noteGranted(first, r.TTL, driver.Now()); !errors.Is(err, errGone) {
		t.Errorf("what is gone is granted: %v", err)
	}
	if err := renewOne(t, e, r); err != nil {
		t.Errorf("Renew: %v", err)
	}
	mustRelease(t, e, r)
}

// The entry of an earlier session, which is about to go, is not used in this session.
func TestNodeOfAnotherSessionIsNotAdopted(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, other, r)
	key := ownerKey{r.Key, ownerID(r.Owner)}
	e.owned.noteUnknown(key)
	if g, err := e.Take(t.Context(), r); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take: %+v, %v", g, err)
	}
	if err := renewOne(t, e, r); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Renew: %v", err)
	}
	if err := renewOne(t, other, r); err != nil {
		t.Errorf("Renew by the holder: %v", err)
	}
}

// A waiter whose entry was removed by somebody else creates another one, and never believes that it is its turn.
func TestWaiterNoticesThatItsPlaceIsGone(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, other, r)
	queued := join(t, e, lock(t, "a"))
	done := waitFor(t.Context(), e, queued)
	node, _ := e.owned.find(ownerKey{queued.Key, ownerID(queued.Owner)})
	eventually(t, "it is watched", func() bool {
		_, armed := e.client.watchAt(node.path())
		return armed
	})
	// In one transaction: its own entry goes, and then the one ahead.
	held, _ := other.owned.find(ownerKey{r.Key, ownerID(r.Owner)})
	_, err := other.client.multi(t.Context(), nil,
		&zk.DeleteRequest{Path: node.path(), Version: -1}, &zk.DeleteRequest{Path: held.path(), Version: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := <-done
	entries := nodes(t, other, r.Key)
	if w.err != nil || len(entries) != 1 || entries[0].name == node.name {
		t.Errorf("granted %+v, %v, while the entries are %+v", w.grant, w.err, entries)
	}
}

// A take that was given up while there was no connection is sent once there is another session. Its entry is the
// owner's, and the owner does not have to wait behind it.
func TestTakeIsSentInTheNextSession(t *testing.T) {
	t.Parallel()
	s := server(t)
	var gate atomic.Pointer[chan struct{}]
	through := make(chan struct{})
	close(through)
	gate.Store(&through)
	e := openAt(t, s, WithDialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		select {
		case <-*gate.Load():
		case <-ctx.Done():
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}))
	mustTake(t, e, lock(t, "first"))
	session, _ := e.client.current()
	shut := make(chan struct{})
	gate.Store(&shut)
	e.client.closeConnection()
	eventually(t, "it is about to connect again", func() bool {
		e.client.mu.Lock()
		defer e.client.mu.Unlock()
		if e.client.isUp || e.client.connection != nil {
			return false
		}
		e.client.isUp = true // as for an owner that was searched for a moment ago
		return true
	})
	r := lock(t, "a")
	r.Join = true
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := e.Take(ctx, r); err == nil || driver.HadNoEffect(err) {
		t.Errorf("Take: %v", err)
	}
	if err := s.EndSession(session); err != nil {
		t.Fatal(err)
	}
	close(shut)
	eventually(t, "it has another session", func() bool {
		now, _ := e.client.current()
		return now != 0 && now != session
	})
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if g, err := e.Wait(ctx, r); err != nil {
		t.Errorf("Wait: %+v, %v, while the entries are %+v", g, err, nodes(t, e, r.Key))
	}
	if stat, err := e.client.exists(ctx, e.nameNode(r.Key)); err != nil || stat.Cversion != 1 {
		t.Errorf("the node of the name is %+v, %v, want one change: an entry", stat, err)
	}
	mustRelease(t, e, r)
	if left := nodes(t, e, r.Key); len(left) != 0 {
		t.Errorf("%+v are left", left)
	}
}

// endedContext ends when it is told to, for those that look: a request that is in flight is answered before.
type endedContext struct {
	context.Context
	ended atomic.Bool
}

func (c *endedContext) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return c.Context.Err()
}

func (c *endedContext) Done() <-chan struct{} { return nil }

// callBefore is a connection that calls before, once, when a request about a path is about to be sent.
type callBefore struct {
	net.Conn
	path   *atomic.Pointer[string]
	before func()
}

func (c callBefore) Write(b []byte) (int, error) {
	if path := c.path.Load(); path != nil && bytes.Contains(b, []byte(*path)) && c.path.CompareAndSwap(path, nil) {
		c.before()
	}
	return c.Conn.Write(b)
}

// A take has joined, and then finds the holder gone that it was to wait for. It asks again, but its call ends before
// that. Its error says that it may have an effect, so that its place is given up: by now, that holds the lock.
func TestTakeThatEndsAfterItHasJoinedMayHaveAnEffect(t *testing.T) {
	t.Parallel()
	s := server(t)
	other := openAt(t, s)
	held := lock(t, "a")
	mustTake(t, other, held)
	blocker, _ := other.owned.find(ownerKey{held.Key, ownerID(held.Owner)})

	ctx := &endedContext{Context: t.Context()}
	var path atomic.Pointer[string]
	e := openAt(t, s, WithDialer(func(dialCtx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(dialCtx, network, address)
		return callBefore{c, &path, func() {
			if err := other.Release(context.Background(), driver.Release{Hold: hold(held)}); err != nil {
				t.Errorf("Release: %v", err)
			}
			ctx.ended.Store(true)
		}}, err
	}))
	r := lock(t, "a")
	r.Join, r.Mode = true, driver.Shared // so that it reads whether the writer before it has downgraded
	at := blocker.path()
	path.Store(&at)
	_, err := e.Take(ctx, r)
	if !ctx.ended.Load() || len(nodes(t, other, r.Key)) != 1 {
		t.Fatalf("Take: %v, while the entries are %+v", err, nodes(t, other, r.Key))
	}
	if err == nil || driver.HadNoEffect(err) {
		t.Errorf("Take: %v, and the entry is there", err)
	}
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release: %v", err) // what was not granted is not held
	}
	mustTake(t, other, lock(t, "a"))
}
