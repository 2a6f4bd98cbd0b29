package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// long is a ttl that does not run out while a test lasts.
const long = time.Minute

// The name that everybody wants, and the key that other clients know it by.
const (
	name = "order:1001"
	key  = redis.DefaultPrefix + name
)

// world is a server, leasehold on it, and somebody else.
type world struct {
	t         *testing.T
	server    *goredis.Client
	leasehold *leasehold.Client
	foreign   try
}

func newWorld(t *testing.T, foreigner string) *world {
	t.Helper()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	t.Cleanup(func() { c.Close() })
	return &world{t, c, open(t, s.URL()), foreigners[foreigner](c)}
}

// open returns a client of leasehold. The server has been started for the test, so nobody can hold what it does not know.
func open(t testing.TB, url string) *leasehold.Client {
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
	return c
}

// foreignLocks has the foreigner take the key, which must be free.
func (w *world) foreignLocks(ttl time.Duration) unlock {
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

func (w *world) foreignIsRefused() {
	w.t.Helper()
	switch u, err := w.foreign(w.t.Context(), key, long); {
	case err != nil:
		w.t.Fatal(err)
	case u != nil:
		w.t.Fatal("the foreign client has locked what leasehold holds")
	}
}

func (w *world) foreignUnlocks(u unlock, removes bool) {
	w.t.Helper()
	switch removed, err := u(w.t.Context()); {
	case err != nil:
		w.t.Fatal(err)
	case removed != removes:
		w.t.Fatalf("the foreign unlock has removed the key: %v, want %v", removed, removes)
	}
}

// taker takes the name once or waits for it.
type taker func(context.Context) (*leasehold.Lease, error)

// takes has leasehold take the lock, which must be free.
func (w *world) takes(take taker) *leasehold.Lease {
	w.t.Helper()
	l, err := take(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) isRefused(try taker) {
	w.t.Helper()
	if _, err := try(w.t.Context()); !errors.Is(err, leasehold.ErrHeld) {
		w.t.Fatalf("leasehold has locked what the foreign client holds: %v", err)
	}
}

func (w *world) releases(l *leasehold.Lease) {
	w.t.Helper()
	if err := l.Release(); err != nil {
		w.t.Fatal(err)
	}
}

// value is what stands at the key, and how long it will.
func (w *world) value() (string, time.Duration) {
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
func (w *world) awaitFree() {
	w.t.Helper()
	w.await("the key is gone", func() bool { v, _ := w.value(); return v == "" })
}

func (w *world) await(what string, so func() bool) {
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
