package zookeeper

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/ports"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// silentAddress returns the address of a server that accepts connections and sends nothing, like a frozen one.
func silentAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// refusedAddress returns an address where nobody listens.
func refusedAddress(t *testing.T) string {
	t.Helper()
	port, err := ports.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ports.Release(port) })
	return ports.Address(port)
}

// The longest ttl is two fifths of the timeout that the server gives, which is not always the one that was asked for.
func TestLongestLeaseIsTheServers(t *testing.T) {
	t.Parallel()
	s := zookeeperserver.ForTest(t, zookeeperserver.Config{MaxSession: 6 * time.Second, Tick: time.Second})
	for asked, want := range map[time.Duration]time.Duration{
		time.Minute:     2400 * time.Millisecond,
		3 * time.Second: 1200 * time.Millisecond,
		time.Second:     800 * time.Millisecond,
	} {
		e := openAt(t, s, WithSessionTimeout(asked))
		if got := e.Abilities().MaxTTL.Round(time.Millisecond); got != want.Round(time.Millisecond) {
			t.Errorf("asked for sessions of %v, leases last %v, want %v", asked, got, want)
		}
	}
}

// A frozen server does not keep a client from the other servers.
func TestFrozenServerIsSkipped(t *testing.T) {
	t.Parallel()
	for range 4 { // they are tried in a random order
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		// a server may be silent for a second
		servers := []string{silentAddress(t), silentAddress(t), server(t).Addr()}
		e, err := New(ctx, servers, WithSessionTimeout(8*time.Second))
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		r := lock(t, "a")
		r.TTL = time.Second
		mustTake(t, e, r)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			return
		}
	}
}

// Servers that cannot be reached are reported soon, with the reason, and long before the context ends.
func TestUnreachableServers(t *testing.T) {
	t.Parallel()
	addresses := []string{refusedAddress(t), refusedAddress(t)}
	start := time.Now()
	_, err := New(t.Context(), addresses)
	if err == nil || !driver.HadNoEffect(err) || !strings.Contains(err.Error(), addresses[0]) ||
		!strings.Contains(err.Error(), "refused") ||
		time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

// Opening an engine does not take longer than the context allows.
func TestSilentServers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := New(ctx, []string{silentAddress(t)})
	if !errors.Is(err, context.DeadlineExceeded) || !driver.HadNoEffect(err) ||
		!strings.Contains(err.Error(), "no server has accepted this client") ||
		time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

// Requests end with their context, whatever the server does, and what was not answered is unknown. When the server is
// back, the session continues.
func TestServerIsFrozen(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	e := openAt(t, s, WithSessionTimeout(longSession))
	held, r := lock(t, "held"), lock(t, "a")
	g := mustTake(t, e, held)
	waiting := waitFor(t.Context(), e, join(t, e, lock(t, "held")))
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	for what, request := range map[string]func(ctx context.Context) error{
		"Take":    func(ctx context.Context) error { _, err := e.Take(ctx, r); return err },
		"Release": func(ctx context.Context) error { return e.Release(ctx, driver.Release{Hold: hold(r)}) },
		"List":    func(ctx context.Context) error { _, err := e.List(ctx, driver.Query{}); return err },
		"Renew": func(ctx context.Context) (outcome error) {
			e.Renew(ctx, []driver.Renewal{{Hold: hold(held), TTL: held.TTL}}, func(_ int, err error) { outcome = err })
			return outcome
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		start := time.Now()
		err := request(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || driver.HadNoEffect(err) && what == "Take" ||
			time.Since(start) > 2*time.Second {
			t.Errorf("%s, after %v: %v", what, time.Since(start), err)
		}
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if again := mustTake(t, e, held); again.Token != g.Token {
		t.Errorf("the token is %d, and was %d", again.Token, g.Token)
	}
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release: %v", err)
	}
	if n := len(nodes(t, e, r.Key)); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	mustRelease(t, e, held)
	if w := <-waiting; w.err != nil {
		t.Errorf("Wait: %v", w.err)
	}
}

// A closed engine refuses calls at once and permanently, also those that wait.
func TestClosedEngineRefuses(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, e, r)
	waiting := waitFor(t.Context(), e, join(t, e, lock(t, "a")))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if w := <-waiting; !driver.IsPermanent(w.err) {
		t.Errorf("Wait: %v", w.err)
	}
	if _, err := e.Take(t.Context(), lock(t, "b")); !driver.IsPermanent(err) {
		t.Errorf("Take: %v", err)
	}
	mustTake(t, other, lock(t, "a")) // what it held is free at once
}
