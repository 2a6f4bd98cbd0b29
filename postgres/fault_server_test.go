package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// durableServerWithTables is a server of the test's own that keeps what it has confirmed when it crashes. The tables
// are made.
func durableServerWithTables(t *testing.T) *postgresserver.Server {
	t.Helper()
	s := postgresserver.ForTest(t, postgresserver.Config{TCP: true, Durable: true})
	if err := postgres.Migrate(t.Context(), poolAt(t, s.URL()), postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	return s
}

// engineAt is an engine on a server.
func engineAt(t *testing.T, url string, opts ...postgres.Option) *postgres.Engine {
	t.Helper()
	return open(t, poolAt(t, url), postgres.DefaultSchema, opts...)
}

// restart ends a server and starts it again.
func restart(t *testing.T, s *postgresserver.Server, end func(*postgresserver.Server) error) {
	t.Helper()
	if err := errors.Join(end(s), s.Restart()); err != nil {
		t.Fatal(err)
	}
}

// takeEventually takes a lock as soon as the server grants it, and reports whether the crash guard was closed before.
func takeEventually(t *testing.T, e *postgres.Engine, r driver.Request) (g driver.Grant, closed bool) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		g, err := e.Take(t.Context(), r)
		if err == nil {
			return g, closed
		}
		if _, is := errors.AsType[*postgres.ClosedError](err); is {
			closed = true
		} else if driver.IsNo(err) || driver.IsPermanent(err) {
			t.Fatalf("Take: %v", err)
		}
		if time.Since(began) > patience {
			t.Fatalf("Take, after %v: %v", time.Since(began), err)
		}
	}
}

// expectClosedFor expects that nothing is granted until the longest lease has ended that a server may have lost. The
// server has been up since the given time. It returns the first grant.
func expectClosedFor(t *testing.T, e *postgres.Engine, up time.Time, longest time.Duration) driver.Grant {
	t.Helper()
	g, closed := takeEventually(t, e, lockFor("another", time.Second))
	// The server may have been asked a moment before the test knew that it was up.
	if since := time.Since(up); !closed || since < longest-200*time.Millisecond {
		t.Errorf("a lock was granted after %v, by a server that said it was closed (%v), and may have lost a lease "+
			"for %v", since, closed, longest)
	}
	return g
}

// Restarts after which the crash guard does not close.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := durableServerWithTables(t)
	restartForgetsNothing(t, s)
	crashWithoutGuard(t, s)
}

// A server that an operator restarts forgets nothing: holders go on holding, and waiters go on waiting.
func restartForgetsNothing(t *testing.T, s *postgresserver.Server) {
	t.Helper()
	a, b := engineAt(t, s.URL()), engineAt(t, s.URL())
	r, w := lock("a"), lock("a")
	first := mustTake(t, a, r)
	granted := startWaiting(t, b, w)
	restart(t, s, (*postgresserver.Server).Stop)
	expectRenewal(t, a, r, nil)
	if _, closed := takeEventually(t, b, lock("b")); closed {
		t.Error("nothing was granted after a restart that has lost nothing")
	}
	if g, err := b.Take(t.Context(), lock("a")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("what is held was granted after a restart: %+v, %v", g, err)
	}
	mustRelease(t, a, r)
	if g := awaitGrant(t, granted, patience/2); g.Token <= first.Token {
		t.Errorf("token %d follows %d", g.Token, first.Token)
	}
	expectRenewal(t, b, w, nil)
}

// A crash forgets what is held. Nothing is granted until the longest lease has ended; then waiters get what they wait
// for. Another crash in the meantime is waited out, too.
func TestCrashIsWaitedOut(t *testing.T) {
	t.Parallel()
	const longest = 3 * time.Second
	s := durableServerWithTables(t)
	a, b := engineAt(t, s.URL(), postgres.WithMaxTTL(longest)), engineAt(t, s.URL(), postgres.WithMaxTTL(time.Second))
	r, w := lock("a"), lock("a")
	r.TTL, w.TTL = longest, time.Second
	first := mustTake(t, a, r)
	granted := startWaiting(t, b, w)
	restart(t, s, (*postgresserver.Server).Kill)
	for refused, began := false, time.Now(); !refused; {
		_, err := b.Take(t.Context(), lockFor("another", time.Second))
		_, refused = errors.AsType[*postgres.ClosedError](err)
		if err == nil || time.Since(began) > patience {
			t.Fatalf("after a crash: %v, want a ClosedError", err)
		}
	}
	restart(t, s, (*postgresserver.Server).Kill)
	expectClosedFor(t, b, time.Now(), longest) // a lease may have been granted just before the crash
	expectRenewal(t, a, r, driver.ErrNotHeld)
	g := awaitGrant(t, granted, patience)
	if g.Token <= first.Token {
		t.Errorf("token %d follows %d", g.Token, first.Token)
	}
	if _, closed := takeEventually(t, a, lockFor("b", time.Second)); closed {
		t.Error("it is closed after it was opened")
	}
}

// When the server crashes, those who already wait are told once that nothing is granted for a while.
func TestWaitersAreToldOfACrash(t *testing.T) {
	t.Parallel()
	const longest = 2 * time.Second
	s := durableServerWithTables(t)
	e := engineAt(t, s.URL(), postgres.WithMaxTTL(longest))
	mustTake(t, e, lockFor("a", longest))
	w := lockFor("a", longest)
	w.Join = true
	if _, err := e.Take(t.Context(), w); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	restart(t, s, (*postgresserver.Server).Kill)
	var err error
	for began := time.Now(); !errors.Is(err, driver.ErrHeld); {
		if _, err = e.Wait(t.Context(), w); err == nil || time.Since(began) > patience {
			t.Fatalf("Wait: %v, want that nothing is granted", err)
		}
	}
	if _, closed := errors.AsType[*postgres.ClosedError](err); !closed {
		t.Errorf("Wait: %v, want a ClosedError", err)
	}
	if _, err := e.Wait(t.Context(), w); err != nil {
		t.Errorf("Wait until leases are granted: %v", err)
	}
}

// lockFor is a request with another ttl.
func lockFor(name string, ttl time.Duration) driver.Request {
	r := lock(name)
	r.TTL = ttl
	return r
}

// Without the guard the lock is granted at once after a crash, and tokens go on growing.
func crashWithoutGuard(t *testing.T, s *postgresserver.Server) {
	t.Helper()
	e := engineAt(t, s.URL(), postgres.WithoutCrashGuard())
	var latest uint64
	for range 100 {
		g := mustTake(t, e, lock("c"+time.Now().String()))
		latest = max(latest, g.Token)
	}
	r := lock("c")
	mustTake(t, e, r)
	restart(t, s, (*postgresserver.Server).Kill)
	g, closed := takeEventually(t, e, lock("c"))
	if closed || g.Token <= latest+64 {
		t.Errorf("granted with token %d after %d; closed before: %v", g.Token, latest, closed)
	}
	expectRenewal(t, e, r, driver.ErrNotHeld)
}

// A promoted standby knows nothing of what was held. It grants nothing until all leases have ended, and its tokens are
// larger.
func TestFailover(t *testing.T) {
	t.Parallel()
	const longest = 3 * time.Second
	primary := durableServerWithTables(t)
	standby := postgresserver.StandbyForTest(t, primary, postgresserver.Config{TCP: true, Durable: true})
	examineStandby(t, standby)
	// What is written from here on (the longest lease, the tokens) does not reach the standby.
	if err := standby.Stop(); err != nil {
		t.Fatal(err)
	}
	url := "postgres://postgres@" + primary.Addr() + "," + standby.Addr() +
		"/postgres?sslmode=disable&target_session_attrs=read-write&connect_timeout=2"
	a, b := engineAt(t, url, postgres.WithMaxTTL(longest)), engineAt(t, url, postgres.WithMaxTTL(longest))
	r, w := lockFor("a", longest), lockFor("a", longest)
	var first driver.Grant
	for range 100 {
		r.Owner += "x"
		first = mustTake(t, a, r)
		mustRelease(t, a, r)
	}
	first = mustTake(t, a, r)
	granted := startWaiting(t, b, w)
	if err := errors.Join(primary.Kill(), standby.Restart(), standby.Promote()); err != nil {
		t.Fatal(err)
	}
	expectClosedFor(t, a, time.Now(), longest)
	expectRenewal(t, a, r, driver.ErrNotHeld)
	g := awaitGrant(t, granted, patience)
	if g.Token <= first.Token {
		t.Errorf("token %d follows %d", g.Token, first.Token)
	}
}

// A frozen server delays nobody for longer than they asked for, and works again when it continues.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	s := durableServerWithTables(t)
	e, other := engineAt(t, s.URL()), engineAt(t, s.URL())
	r, w := lock("a"), lock("a")
	mustTake(t, e, r)
	granted := startWaiting(t, other, w)
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	for what, ask := range map[string]func(context.Context) error{
		"Take":    func(ctx context.Context) error { _, err := e.Take(ctx, lock("b")); return err },
		"Wait":    func(ctx context.Context) error { _, err := e.Wait(ctx, lock("a")); return err },
		"Release": func(ctx context.Context) error { return e.Release(ctx, driver.Release{Hold: hold(lock("c"))}) },
		"Renew":   func(ctx context.Context) error { return renewal(ctx, e, r) },
		"List":    func(ctx context.Context) error { _, err := e.List(ctx, driver.Query{}); return err },
		"Examine": func(ctx context.Context) error { _, err := e.Examine(ctx); return err },
	} {
		for _, end := range []string{"deadline", "cancellation"} {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			if end == "cancellation" {
				cancel()
				ctx, cancel = context.WithCancel(t.Context())
				time.AfterFunc(200*time.Millisecond, cancel)
			}
			began := time.Now()
			err := ask(ctx)
			cancel()
			if took := time.Since(began); took > 2*time.Second || err == nil || driver.IsNo(err) ||
				driver.IsPermanent(err) {
				t.Errorf("%s took %v until its %s: %v", what, took, end, err)
			}
		}
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	expectRenewal(t, e, r, nil)
	mustRelease(t, e, r)
	awaitGrant(t, granted, patience)
	closeOnAFrozenServer(t, s)
}

// Close does not wait for a frozen server.
func closeOnAFrozenServer(t *testing.T, s *postgresserver.Server) {
	t.Helper()
	e := engineAt(t, s.URL())
	mustTake(t, e, lock("closed"))
	w := lock("closed")
	w.Join = true
	if _, err := e.Take(t.Context(), w); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := e.Wait(context.Background(), w)
		waited <- err
	}()
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := e.Close(); err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("Close took %v: %v", time.Since(began), err)
	}
	select {
	case err := <-waited:
		if !driver.IsPermanent(err) {
			t.Errorf("Wait, as the engine is closed: %v", err)
		}
	case <-time.After(patience):
		t.Error("Wait goes on after Close")
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
}
