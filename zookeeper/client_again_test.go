//go:build !race || quietzk

// The client of ZooKeeper reads a number without its lock when it connects again. Where connections break again and again, the race detector sees that
// now and then, and blames all tests that run. It does no harm to the engine. So make race compiles the client without the detector, and says so with a tag.

package zookeeper

import (
	"testing"
	"time"
)

// A connection that breaks costs nothing but time, and no second of pause if there is one server only.
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	g := mustTake(t, other, r)
	waiting := waitFor(t.Context(), e, join(t, e, lock(t, "a")))
	session, _ := e.client.current()
	held, _ := other.places.find(claim{r.Key, idOf(r.Owner)})
	_, spot, err := e.client.watch(t.Context(), held.path())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		e.client.mu.Lock()
		line := e.client.line
		e.client.mu.Unlock()
		_ = line.Conn.Close()
		start := time.Now()
		eventually(t, "it has another connection", func() bool {
			e.client.mu.Lock()
			defer e.client.mu.Unlock()
			return e.client.line != line && e.client.up
		})
		if took := time.Since(start); took > 900*time.Millisecond {
			t.Logf("connecting again took %v", took) // the machine may be slow
		}
	}
	if !hasFired(spot.fired) {
		t.Error("those who watch do not look anew")
	}
	mustRelease(t, other, r)
	w := <-waiting
	if now, _ := e.client.current(); w.err != nil || w.grant.Token <= g.Token || now != session {
		t.Errorf("Wait: %+v, %v, in session %x, which was %x", w.grant, w.err, now, session)
	}
}
