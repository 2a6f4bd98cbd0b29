package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// longTTL is a ttl that does not expire while a test lasts.
const longTTL = time.Minute

// The name that all clients lock, and the key by which other clients know it.
const (
	name = "order:1001"
	key  = redis.DefaultPrefix + name
)

// fixture is a server, leasehold on it, and a foreign client.
type fixture struct {
	t         *testing.T
	server    *goredis.Client
	leasehold *leasehold.Client
	ops       *admin.Client // on the engine of leasehold
	foreign   tryLock
}

func newFixture(t *testing.T, foreigner string) *fixture {
	t.Helper()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	t.Cleanup(func() { c.Close() })
	locker, ops := open(t, s.URL())
	return &fixture{t, c, locker, ops, foreignClients[foreigner](c)}
}

// open returns a client of leasehold. The server was started for the test, so it has lost no leases and needs no guard.
func open(t testing.TB, url string) (*leasehold.Client, *admin.Client) {
	t.Helper()
	e, err := redis.Open(url + "?guard=off")
	if err != nil {
		t.Fatal(err)
	}
	c := leasehold.New(e)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, admin.New(e)
}

// foreignLock has the foreign client take the key, which must be free.
func (w *fixture) foreignLock(ttl time.Duration) unlock {
	w.t.Helper()
	u, err := w.foreign(w.t.Context(), key, ttl)
	if err != nil {
		w.t.Fatal(err)
	}
	if u == nil {
		w.t.Fatal("the foreign client was refused, although the lock is free")
	}
	return u
}

func (w *fixture) foreignMustBeRefused() {
	w.t.Helper()
	switch u, err := w.foreign(w.t.Context(), key, longTTL); {
	case err != nil:
		w.t.Fatal(err)
	case u != nil:
		w.t.Fatal("the foreign client has locked what leasehold holds")
	}
}

func (w *fixture) foreignUnlock(u unlock, removes bool) {
	w.t.Helper()
	switch removed, err := u(w.t.Context()); {
	case err != nil:
		w.t.Fatal(err)
	case removed != removes:
		w.t.Fatalf("the foreign unlock has removed the key: %v, want %v", removed, removes)
	}
}

// lockFunc tries to take the name, or waits for it.
type lockFunc func(context.Context) (*leasehold.Lease, error)

// mustLock has leasehold take the lock, which must be free.
func (w *fixture) mustLock(take lockFunc) *leasehold.Lease {
	w.t.Helper()
	l, err := take(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *fixture) mustBeRefused(try lockFunc) {
	w.t.Helper()
	if _, err := try(w.t.Context()); !errors.Is(err, leasehold.ErrHeld) {
		w.t.Fatalf("leasehold has locked what the foreign client holds: %v", err)
	}
}

func (w *fixture) mustRelease(l *leasehold.Lease) {
	w.t.Helper()
	if err := l.Release(); err != nil {
		w.t.Fatal(err)
	}
}

// value returns the value of the key, and its ttl.
func (w *fixture) value() (string, time.Duration) {
	w.t.Helper()
	v, err := w.server.Get(w.t.Context(), key).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		w.t.Fatal(err)
	}
	ttl, err := w.server.PTTL(w.t.Context(), key).Result()
	if err != nil {
		w.t.Fatal(err)
	}
	return v, ttl
}

// awaitFree returns as soon as the key is gone.
func (w *fixture) awaitFree() {
	w.t.Helper()
	w.await("the key is gone", func() bool { v, _ := w.value(); return v == "" })
}

func (w *fixture) await(what string, so func() bool) {
	w.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(redisserver.Patience); !so(); {
		select {
		case <-tick.C:
		case <-limit:
			w.t.Fatalf("waited %s in vain until %s", redisserver.Patience, what)
		}
	}
}
