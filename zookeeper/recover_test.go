package zookeeper

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// lose makes an engine forget a place, as if the answer to the take had been lost.
func lose(e *Engine, r driver.Request) {
	c := claim{r.Key, idOf(r.Owner)}
	p, _ := e.places.find(c)
	e.drop(p)
	e.places.doubt(c)
}

// A take whose answer was lost is found again, and not done twice.
func TestLostTakeIsFoundAgain(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r := lock(t, "held")
	g := mustTake(t, e, r)
	lose(e, r)
	if again := mustTake(t, e, r); again.Token != g.Token {
		t.Errorf("the token is %d, and was %d", again.Token, g.Token)
	}
	if n := len(nodes(t, e, r.Key)); n != 1 {
		t.Errorf("there are %d places, want one", n)
	}
	if err := renewOne(t, e, r); err != nil {
		t.Errorf("Renew: %v", err)
	}

	queued := join(t, e, lock(t, "held"))
	lose(e, queued)
	join(t, e, queued)
	if n := len(nodes(t, e, r.Key)); n != 2 {
		t.Errorf("there are %d places, want two", n)
	}
	done := waitFor(t.Context(), e, queued)
	mustRelease(t, e, r)
	if w := <-done; w.err != nil {
		t.Error(w.err)
	}
	mustRelease(t, e, queued)
	if n := len(nodes(t, e, r.Key)); n != 0 {
		t.Errorf("there are %d places, want none", n)
	}
}

// A take that arrives while the next one looks whether the name is free is no reason to refuse that.
func TestLateTakeIsNotInItsOwnWay(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r := lock(t, "a")
	g := mustTake(t, e, r)
	lose(e, r)
	if p, err := e.mayTry(t.Context(), &r, claim{r.Key, idOf(r.Owner)}, true); err != nil || p == nil || p.token != g.Token {
		t.Errorf("it is %+v, %v, want the place with token %d", p, err, g.Token)
	}
	other := lock(t, "a")
	if p, err := e.mayTry(t.Context(), &other, claim{other.Key, idOf(other.Owner)}, true); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("another: %+v, %v", p, err)
	}
	mustRelease(t, e, r)
}

// A place that is about to be removed, as its time is over or there is an earlier one, is not found again: it would go while its owner holds.
func TestPlaceThatGoesIsNotFoundAgain(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	held := lock(t, "a")
	mustTake(t, other, held)
	r := join(t, e, lock(t, "a"))
	c := claim{r.Key, idOf(r.Owner)}
	e.places.doubt(c)
	p, _ := e.places.find(c)
	e.places.mu.Lock()
	p.end = time.Now()
	e.places.mu.Unlock()
	if over, _ := e.lapsed(p); !over {
		t.Fatal("its time is not over")
	}
	again := join(t, e, r) // before the removal arrives
	if now, _ := e.places.find(c); now == nil || now.name == p.name {
		t.Fatalf("the place is %+v, and %+v goes", now, p)
	}
	if err := e.free(t.Context(), p.parent, p.name, true); err != nil { // now it does
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

	first, err := e.settleIn(t.Context(), &r, c)
	if err != nil {
		t.Fatal(err)
	}
	e.ends.Close() // so that the removal does not come
	e.abandon(first)
	e.drop(first)
	if p, err := e.recover(t.Context(), &r, c); p != nil || err != nil {
		t.Errorf("found %+v, %v", p, err)
	}
}

// A take that was lost is released without knowing what became of it.
func TestLostTakeIsReleased(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, e, r)
	lose(e, r)
	if _, err := other.Take(t.Context(), lock(t, "a")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take of what is held: %v", err)
	}
	mustRelease(t, e, r)
	mustTake(t, other, lock(t, "a"))

	r = lock(t, "kept")
	g := mustTake(t, e, r)
	lose(e, r)
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r), Keep: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if list, err := other.List(t.Context(), driver.Query{Name: r.Name}); err != nil || len(list) != 1 || list[0].Holders[0].Token != g.Token {
		t.Errorf("listed %+v, %v, want the kept lock with token %d", list, err, g.Token)
	}
}

// A take that comes twice, since its first request arrives after it was given up, leaves no second place behind.
func TestTakeThatComesTwiceIsReleasedWhole(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r := lock(t, "a")
	g := mustTake(t, e, r)
	c := claim{r.Key, idOf(r.Owner)}
	if p, _, err := e.sit(t.Context(), &r, c, false); err != nil || p.token != g.Token {
		t.Fatalf("it has %+v, %v, want the place with token %d", p, err, g.Token)
	}
	if _, doubt := e.places.find(c); !doubt {
		t.Error("a release would not look for more")
	}
	mustRelease(t, e, r)
	if n := len(nodes(t, e, r.Key)); n != 0 {
		t.Errorf("there are %d places, want none", n)
	}
}

// A take that comes twice is not in its own way: the earlier place is the owner's, and the later one goes.
func TestTakeThatComesTwiceWaitsForOthersOnly(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	held := lock(t, "a")
	mustTake(t, other, held)
	c := claim{r.Key, idOf(r.Owner)}
	first, _, err := e.sit(t.Context(), &r, c, false) // which nobody waits for
	if err != nil {
		t.Fatal(err)
	}
	second, err := e.join(t.Context(), &r, c)
	if err != nil || second != first {
		t.Fatalf("it has %+v, %v, want %+v", second, err, first)
	}
	eventually(t, "the later place is gone", func() bool { return len(nodes(t, e, r.Key)) == 2 })
	done := waitFor(t.Context(), e, r)
	mustRelease(t, other, held)
	if w := <-done; w.err != nil || w.grant.Token != first.token {
		t.Errorf("granted %+v, %v, want token %d", w.grant, w.err, first.token)
	}
	mustRelease(t, e, r)
}

// Who is alone in the node of a name has proved that what is known of a place before is out of date.
func TestPlaceBeforeIsGoneForOneWhoIsAlone(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	r := lock(t, "a")
	c := claim{r.Key, idOf(r.Owner)}
	first, err := e.settleIn(t.Context(), &r, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.free(t.Context(), first.parent, first.name, false); err != nil { // by somebody else
		t.Fatal(err)
	}
	second, err := e.settleIn(t.Context(), &r, c)
	if err != nil || second == first {
		t.Fatalf("it has %+v, %v, and had %+v", second, err, first)
	}
	if g, err := e.granted(second, r.TTL, driver.Now()); err != nil || g.Token <= first.token {
		t.Errorf("granted %+v, %v", g, err)
	}
	if _, err := e.granted(first, r.TTL, driver.Now()); !errors.Is(err, errGone) {
		t.Errorf("what is gone is granted: %v", err)
	}
	if err := renewOne(t, e, r); err != nil {
		t.Errorf("Renew: %v", err)
	}
	mustRelease(t, e, r)
}

// The place of a session before, which is about to go, is no place of this one's.
func TestPlaceOfAnotherSessionIsNotAdopted(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, other, r)
	c := claim{r.Key, idOf(r.Owner)}
	e.places.doubt(c)
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

// A waiter whose place was removed by somebody else takes another one, and never believes that it is its turn.
func TestWaiterNoticesThatItsPlaceIsGone(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, other, r)
	queued := join(t, e, lock(t, "a"))
	done := waitFor(t.Context(), e, queued)
	p, _ := e.places.find(claim{queued.Key, idOf(queued.Owner)})
	eventually(t, "it is watched", func() bool {
		_, armed := e.client.spotAt(p.path())
		return armed
	})
	// In one step: its place goes, and then the one ahead.
	held, _ := other.places.find(claim{r.Key, idOf(r.Owner)})
	if _, err := other.client.multi(t.Context(), nil, &zk.DeleteRequest{Path: p.path(), Version: -1}, &zk.DeleteRequest{Path: held.path(), Version: -1}); err != nil {
		t.Fatal(err)
	}
	w := <-done
	seats := nodes(t, other, r.Key)
	if w.err != nil || len(seats) != 1 || seats[0].name == p.name {
		t.Errorf("granted %+v, %v, while the places are %+v", w.grant, w.err, seats)
	}
}

// A take that was asked for while the connection was down, and given up, is sent once there is another session. Its place is the owner's, who is not
// kept waiting behind it.
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
	e.client.hangUp()
	eventually(t, "it is about to connect again", func() bool {
		e.client.mu.Lock()
		defer e.client.mu.Unlock()
		if e.client.up || e.client.line != nil {
			return false
		}
		e.client.up = true // as for one who has looked a moment ago
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
		t.Errorf("Wait: %+v, %v, while the places are %+v", g, err, nodes(t, e, r.Key))
	}
	if stat, err := e.client.exists(ctx, e.parent(r.Key)); err != nil || stat.Cversion != 1 {
		t.Errorf("the node of the name is %+v, %v, want one change: a place", stat, err)
	}
	mustRelease(t, e, r)
	if left := nodes(t, e, r.Key); len(left) != 0 {
		t.Errorf("%+v are left", left)
	}
}
