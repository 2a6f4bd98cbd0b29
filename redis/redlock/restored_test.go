package redlock_test

import (
	"cmp"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// A server writes to its disk what it has granted to an attempt that then fails, and dies before it has written that this was released and that another one
// holds. When it is back, it has the key of the first again. That is no vote for the first, who is still trying: the other one's lease is not over.
func TestKeyThatARestartHasBroughtBackIsNoVote(t *testing.T) {
	t.Parallel()
	const ttl = time.Minute // the test takes a small part of it
	s := servers(t, 3)
	guarded := []redlock.Option{patient, redlock.WithNodes(redis.WithMaxTTL(ttl))}
	vote(t, addresses(s), guarded)
	all(t, s, "warm up", false)

	var saved atomic.Bool
	watched, late := redisserver.ProxyForTest(t, s[0].Addr()), redisserver.ProxyForTest(t, s[1].Addr())
	first := openGuarded(t, []string{watched.Addr(), late.Addr(), s[2].Addr()}, guarded...)
	away := redisserver.ProxyForTest(t, s[2].Addr())
	away.Refuse()
	second := openGuarded(t, []string{s[0].Addr(), s[1].Addr(), away.Addr()}, guarded...)
	await(t, "the first one knows the server", func() bool { // it may have begun with the other two
		r := request("known")
		r.Owner = rand.Text()
		g, err := first.Take(t.Context(), r)
		knows := tell(t, s[0], "EXISTS", "lock:known") == int64(1)
		release := first.Release(t.Context(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: cmp.Or(g.Owner, r.Owner)}})
		return err == nil && release == nil && knows
	})
	all(t, s, "known", false)

	for _, server := range s[1:] {
		tell(t, server, "SET", "lock:name", "somebody else")
	}
	watched.Intercept(func([]byte) redisserver.Action { // what comes after the grant is the release
		held, err := s[0].Command("EXISTS", "lock:name")
		if err == nil && held == int64(1) && !saved.Swap(true) {
			_, err = s[0].Command("SAVE")
		}
		if err != nil {
			t.Error(err)
		}
		return redisserver.Pass
	})
	r := request("name")
	r.Owner, r.TTL = "first", ttl
	late.Intercept(func([]byte) redisserver.Action { return redisserver.Hold }) // or the vote may be over before the first server is asked
	refused := make(chan error, 1)
	go func() {
		_, err := first.Take(t.Context(), r)
		refused <- err
	}()
	all(t, s[:1], "name", true)
	late.Intercept(nil)
	late.Release()
	if err := <-refused; !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("a take of what is held: %v", err)
	}
	await(t, "the server was about to release", saved.Load)
	all(t, s[:1], "name", false)
	watched.Intercept(nil)
	for _, server := range s[1:] {
		tell(t, server, "DEL", "lock:name")
	}
	began := time.Now()
	other := request("name")
	other.Owner, other.TTL = "second", ttl
	if _, err := second.Take(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	s[0].Kill()
	if err := s[0].Restart(); err != nil {
		t.Fatal(err)
	}
	if tell(t, s[0], "EXISTS", "lock:name") != int64(1) {
		t.Fatal("the server has not got the key of the first back: nothing is shown")
	}
	_, err := first.Take(t.Context(), r)
	if time.Since(began) > ttl-time.Second {
		t.Fatal("this machine is too slow to show it: the lease of the second may have ended")
	}
	if err == nil {
		t.Fatal("two hold the lock")
	}
	for _, v := range votesOf(t, err) {
		if v.Node == watched.Addr() && v.Answer == redlock.Granted {
			t.Errorf("the server that was restarted says %s", v)
		}
	}
}

// The same for the second half of a vote: a server that was restarted after the take still raises the token of a key that it has kept.
func TestRaiseAfterARestartIsNoVote(t *testing.T) {
	t.Parallel()
	const ttl = time.Minute // the test takes a small part of it
	s := servers(t, 3)
	guarded := []redlock.Option{unhurried, redlock.WithNodes(redis.WithMaxTTL(ttl))}
	vote(t, addresses(s), guarded)
	all(t, s, "warm up", false)

	ahead := redisserver.ProxyForTest(t, s[1].Addr()) // its answer comes last, and its token is the largest
	away := redisserver.ProxyForTest(t, s[2].Addr())
	away.Refuse()
	tell(t, s[1], "SET", "{lock:name}:token", "9000000000000000")
	e := openGuarded(t, []string{s[0].Addr(), ahead.Addr(), away.Addr()}, guarded...)
	ahead.Intercept(func([]byte) redisserver.Action { return redisserver.Hold })
	taken := make(chan error, 1)
	r := request("name")
	r.TTL = ttl
	go func() {
		_, err := e.Take(t.Context(), r)
		taken <- err
	}()
	all(t, s[:1], "name", true)
	tell(t, s[0], "SAVE")
	s[0].Kill()
	if err := s[0].Restart(); err != nil {
		t.Fatal(err)
	}
	ahead.Intercept(nil)
	ahead.Release()
	err := <-taken
	if err == nil {
		t.Fatal("a server that has just been restarted has voted")
	}
	if token := tell(t, s[0], "GET", "{lock:name}:token"); token != "9000000000000001" {
		t.Fatalf("the last token there is %v: it was not asked to raise it, so nothing is shown: %v", token, err)
	}
}

// A lock is taken away by a majority and granted to the next one. A server of that majority dies and comes back with what it knew before. The one from whom it was taken away
// has the key there again, and on the server that missed all this; but one of the two has no vote.
func TestYesOfAServerWithoutAVoteRenewsNothing(t *testing.T) {
	t.Parallel()
	const ttl = time.Minute // the test takes a small part of it
	s := servers(t, 3)
	guarded := guardedFor(ttl)
	vote(t, addresses(s), guarded)
	first := openGuarded(t, addresses(s), guarded...)
	held := by("first", "name", ttl)
	began := time.Now()
	g, err := first.Take(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	all(t, s, "name", true)
	tell(t, s[0], "SAVE")
	away := redisserver.ProxyForTest(t, s[2].Addr())
	away.Refuse()
	operator := openGuarded(t, []string{s[0].Addr(), s[1].Addr(), away.Addr()}, guarded...)
	if err := operator.ForceRelease(t.Context(), held.Key, g.Token); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Take(t.Context(), by("next", "name", ttl)); err != nil {
		t.Fatal(err)
	}
	s[0].Kill()
	if err := s[0].Restart(); err != nil {
		t.Fatal(err)
	}
	await(t, "all servers have answered", func() bool { // a connection to the server before may break first
		err = renews(t, first, held)
		return err == nil || driver.IsNo(err)
	})
	if time.Since(began) > ttl-time.Second {
		t.Fatal("this machine is too slow to show it: the lease of the next one may have ended")
	}
	if !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("two hold the lock: the one from whom it was taken away renews: %v", err)
	}
}
