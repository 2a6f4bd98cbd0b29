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

// breakable is a server of the test's own, which keeps what it confirms, with the tables.
func breakable(t *testing.T) *postgresserver.Server {
	t.Helper()
	s := postgresserver.ForTest(t, postgresserver.Config{TCP: true, Durable: true})
	if err := postgres.Migrate(t.Context(), poolAt(t, s.URL()), postgres.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	return s
}

// on is an engine on a server.
func on(t *testing.T, url string, opts ...postgres.Option) *postgres.Engine {
	t.Helper()
	return open(t, poolAt(t, url), postgres.DefaultSchema, opts...)
}

// restarts ends a server and starts it again.
func restarts(t *testing.T, s *postgresserver.Server, end func(*postgresserver.Server) error) {
	t.Helper()
	if err := errors.Join(end(s), s.Restart()); err != nil {
		t.Fatal(err)
	}
}

// takesAtLast takes a lock as soon as the server lets it be taken, and reports whether it was refused before as the server was closed.
func takesAtLast(t *testing.T, e *postgres.Engine, r driver.Request) (g driver.Grant, closed bool) {
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

// opensAfter expects that nothing is granted until the longest lease has ended that a server may have lost, which has been up from some moment on,
// and returns the first grant.
func opensAfter(t *testing.T, e *postgres.Engine, up time.Time, longest time.Duration) driver.Grant {
	t.Helper()
	g, closed := takesAtLast(t, e, lockFor("another", time.Second))
	// It may have been asked a moment before the test knew that it was up.
	if since := time.Since(up); !closed || since < longest-200*time.Millisecond {
		t.Errorf("a lock was granted after %v, by a server that said it was closed (%v), and may have lost a lease for %v", since, closed, longest)
	}
	return g
}

// What a server does that was not closed after it was restarted.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := breakable(t)
	restartForgetsNothing(t, s)
	crashWithoutGuard(t, s)
}

// A server that is restarted by an operator forgets nothing: who holds goes on holding, and who waits goes on waiting.
func restartForgetsNothing(t *testing.T, s *postgresserver.Server) {
	t.Helper()
	a, b := on(t, s.URL()), on(t, s.URL())
	r, w := lock("a"), lock("a")
	first := takes(t, a, r)
	granted := waits(t, b, w)
	restarts(t, s, (*postgresserver.Server).Stop)
	renews(t, a, r, nil)
	if _, closed := takesAtLast(t, b, lock("b")); closed {
		t.Error("nothing was granted after a restart that has lost nothing")
	}
	if g, err := b.Take(t.Context(), lock("a")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("what is held was granted after a restart: %+v, %v", g, err)
	}
	releases(t, a, r)
	if g := within(t, granted, patience/2); g.Token <= first.Token {
		t.Errorf("token %d follows %d", g.Token, first.Token)
	}
	renews(t, b, w, nil)
}

// A crash forgets what is held. Until the longest lease has ended, nothing is granted; then those who wait get what they wait for. A crash in the
// meantime is waited out, too.
func TestCrashIsWaitedOut(t *testing.T) {
	t.Parallel()
	const longest = 3 * time.Second
	s := breakable(t)
	a, b := on(t, s.URL(), postgres.WithMaxTTL(longest)), on(t, s.URL(), postgres.WithMaxTTL(time.Second))
	r, w := lock("a"), lock("a")
	r.TTL, w.TTL = longest, time.Second
	first := takes(t, a, r)
	granted := waits(t, b, w)
	restarts(t, s, (*postgresserver.Server).Kill)
	for refused, began := false, time.Now(); !refused; {
		_, err := b.Take(t.Context(), lockFor("another", time.Second))
		_, refused = errors.AsType[*postgres.ClosedError](err)
		if err == nil || time.Since(began) > patience {
			t.Fatalf("after a crash: %v, want a ClosedError", err)
		}
	}
	restarts(t, s, (*postgresserver.Server).Kill)
	opensAfter(t, b, time.Now(), longest) // somebody may have been granted a lease just before the crash
	renews(t, a, r, driver.ErrNotHeld)
	g := within(t, granted, patience)
	if g.Token <= first.Token {
		t.Errorf("token %d follows %d", g.Token, first.Token)
	}
	if _, closed := takesAtLast(t, a, lockFor("b", time.Second)); closed {
		t.Error("it is closed after it was opened")
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
	e := on(t, s.URL(), postgres.WithoutCrashGuard())
	var latest uint64
	for range 100 {
		g := takes(t, e, lock("c"+time.Now().String()))
		latest = max(latest, g.Token)
	}
	r := lock("c")
	takes(t, e, r)
	restarts(t, s, (*postgresserver.Server).Kill)
	g, closed := takesAtLast(t, e, lock("c"))
	if closed || g.Token <= latest+64 {
		t.Errorf("granted with token %d after %d; closed before: %v", g.Token, latest, closed)
	}
	renews(t, e, r, driver.ErrNotHeld)
}

// A standby that is promoted knows nothing of what was held. It grants nothing until all of that has ended, and its tokens are larger.
func TestFailover(t *testing.T) {
	t.Parallel()
	const longest = 3 * time.Second
	primary := breakable(t)
	standby := postgresserver.StandbyForTest(t, primary, postgresserver.Config{TCP: true, Durable: true})
	examineStandby(t, standby)
	// What is written from here on, the longest lease and the tokens, does not get there.
	if err := standby.Stop(); err != nil {
		t.Fatal(err)
	}
	url := "postgres://postgres@" + primary.Addr() + "," + standby.Addr() + "/postgres?sslmode=disable&target_session_attrs=read-write&connect_timeout=2"
	a, b := on(t, url, postgres.WithMaxTTL(longest)), on(t, url, postgres.WithMaxTTL(longest))
	r, w := lockFor("a", longest), lockFor("a", longest)
	var first driver.Grant
	for range 100 {
		r.Owner += "x"
		first = takes(t, a, r)
		releases(t, a, r)
	}
	first = takes(t, a, r)
	granted := waits(t, b, w)
	if err := errors.Join(primary.Kill(), standby.Restart(), standby.Promote()); err != nil {
		t.Fatal(err)
	}
	opensAfter(t, a, time.Now(), longest)
	renews(t, a, r, driver.ErrNotHeld)
	g := within(t, granted, patience)
	if g.Token <= first.Token {
		t.Errorf("token %d follows %d", g.Token, first.Token)
	}
}

// A server that stands still keeps nobody for longer than they asked for, and is good again when it goes on.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	s := breakable(t)
	e, other := on(t, s.URL()), on(t, s.URL())
	r, w := lock("a"), lock("a")
	takes(t, e, r)
	granted := waits(t, other, w)
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
			if took := time.Since(began); took > 2*time.Second || err == nil || driver.IsNo(err) || driver.IsPermanent(err) {
				t.Errorf("%s took %v until its %s: %v", what, took, end, err)
			}
		}
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	renews(t, e, r, nil)
	releases(t, e, r)
	within(t, granted, patience)
	closeOnAFrozenServer(t, s)
}

// Close does not wait for a server that stands still.
func closeOnAFrozenServer(t *testing.T, s *postgresserver.Server) {
	t.Helper()
	e := on(t, s.URL())
	takes(t, e, lock("closed"))
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
