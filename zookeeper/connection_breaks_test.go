//go:build !race || quietzk

// The client library reads a number without its lock when it reconnects. Where connections break again and again, the
// race detector sometimes sees that, and fails all tests that run. It does not affect the engine. So make race compiles
// the library without the detector, which the tag says.

package zookeeper

import (
	"testing"
	"time"
)

// A connection that breaks costs only time, and not a pause of a second if there is one server only.
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	g := mustTake(t, other, r)
	waiting := waitFor(t.Context(), e, join(t, e, lock(t, "a")))
	session, _ := e.client.current()
	held, _ := other.owned.find(ownerKey{r.Key, ownerID(r.Owner)})
	_, watch, err := e.client.watch(t.Context(), held.path())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		e.client.mu.Lock()
		old := e.client.connection
		e.client.mu.Unlock()
		_ = old.Conn.Close()
		start := time.Now()
		eventually(t, "it has another connection", func() bool {
			e.client.mu.Lock()
			defer e.client.mu.Unlock()
			return e.client.connection != old && e.client.isUp
		})
		if took := time.Since(start); took > 900*time.Millisecond {
			t.Logf("connecting again took %v", took) // the machine may be slow
		}
	}
	if !hasFired(watch.fired) {
		t.Error("those who watch do not read the queue again")
	}
	mustRelease(t, other, r)
	w := <-waiting
	if now, _ := e.client.current(); w.err != nil || w.grant.Token <= g.Token || now != session {
		t.Errorf("Wait: %+v, %v, in session %x, which was %x", w.grant, w.err, now, session)
	}
}
