package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// wantClosed asks an engine whether grants are closed, and compares the reason.
func wantClosed(t *testing.T, e *redis.Engine, name, reason string) *redis.ClosedError {
	t.Helper()
	var k driver.Key
	if name != "" {
		k = driver.Key{Kind: driver.Lock, Name: name}
	}
	closed, err := e.GrantsClosed(t.Context(), k)
	switch {
	case err != nil:
		t.Fatal(err)
	case (closed == nil) != (reason == ""), closed != nil && !strings.Contains(closed.Reason, reason):
		t.Fatalf("grants of %q are closed: %v, want %q", name, closed, reason)
	}
	return closed
}

// Operators learn whether grants are closed, and why, as those who take locks do. Asking leaves no marker: the time of
// a new server does not begin with it.
func TestGrantsClosed(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := open(t, standalone(s))
	for _, name := range []string{"a", ""} {
		closed := wantClosed(t, e, name, "no record of earlier use")
		if left := time.Until(closed.Open); !closed.Unseen || left < redis.DefaultMaxTTL-patience ||
			left > redis.DefaultMaxTTL+patience || !strings.Contains(closed.Error(), "guard=off") {
			t.Errorf("a new server: %+v", closed)
		}
	}
	if n := command(t, s, "EXISTS", "{lock:}:guard"); n != int64(0) {
		t.Error("asking has left a marker")
	}
	wantClosed(t, unguarded(t, standalone(s)), "a", "")

	r := lasting("a", time.Second)
	r.Join = true
	_, err := e.Take(t.Context(), r)
	if !errors.Is(err, driver.ErrHeld) || strings.Contains(err.Error(), "held") ||
		!strings.HasPrefix(err.Error(), "grants are closed until ") {
		t.Errorf("a take that joins: %v, want an ErrHeld that does not say that somebody holds the lock", err)
	}

	trust(t, s)
	wantClosed(t, open(t, standalone(s)), "a", "")
	command(t, s, "SET", "{lock:}:guard", "another-server open 1 60000 -")
	if closed := wantClosed(t, open(t, standalone(s)), "a", "was restarted or promoted"); closed.Unseen {
		t.Errorf("a server in place of another one: %+v", closed)
	}
}

// In a Cluster that holds for each slot. A slot that nobody has used yet is open if its master has had it for long.
func TestGrantsClosedInACluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	e := open(t, cluster(c))
	for _, name := range []string{"a", "b", ""} {
		wantClosed(t, e, name, "no record of earlier use")
	}
	if _, err := e.OpenNow(t.Context(), "a test"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", ""} {
		wantClosed(t, open(t, cluster(c)), name, "")
	}
	mustTake(t, e, lasting("a", time.Minute))
	wantClosed(t, open(t, cluster(c)), "a", "")
}
