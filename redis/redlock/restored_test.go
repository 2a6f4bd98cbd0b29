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

// A server saves to its disk a grant for a call that then fails. The call releases it, and the name is
// granted to another owner, but the server dies before it has saved that. When it is back, it has the key of
// the first owner again. That is no vote for the first owner, which still tries: the lease of the other one
// is not over.
func TestKeyThatARestartHasBroughtBackIsNoVote(t *testing.T) {
	t.Parallel()
	const ttl = time.Minute // the test takes a small part of that
	s := servers(t, 3)
	guarded := []redlock.Option{patient, redlock.WithNodes(redis.WithMaxTTL(ttl))}
	makeVote(t, addresses(s), guarded)
	awaitKeys(t, s, "warm up", false)

	var saved atomic.Bool
	watched, late := redisserver.ProxyForTest(t, s[0].Addr()), redisserver.ProxyForTest(t, s[1].Addr())
	first := openGuarded(t, []string{watched.Addr(), late.Addr(), s[2].Addr()}, guarded...)
	away := redisserver.ProxyForTest(t, s[2].Addr())
	away.Refuse()
	second := openGuarded(t, []string{s[0].Addr(), s[1].Addr(), away.Addr()}, guarded...)
	await(t, "the first engine knows the server", func() bool { // it may have begun with the other two
		r := request("known")
		r.Owner = rand.Text()
		g, err := first.Take(t.Context(), r)
		knows := mustCommand(t, s[0], "EXISTS", "lock:known") == int64(1)
		release := first.Release(t.Context(),
			driver.Release{Hold: driver.Hold{Key: r.Key, Owner: cmp.Or(g.Owner, r.Owner)}})
		return err == nil && release == nil && knows
	})
	awaitKeys(t, s, "known", false)

	for _, server := range s[1:] {
		mustCommand(t, server, "SET", "lock:name", "somebody else")
	}
	watched.Intercept(func([]byte) redisserver.Action { // the first request after the grant is the release
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
	// Otherwise the ballot may be over before the first server is asked.
	late.Intercept(func([]byte) redisserver.Action { return redisserver.Hold })
	refused := make(chan error, 1)
	go func() {
		_, err := first.Take(t.Context(), r)
		refused <- err
	}()
	awaitKeys(t, s[:1], "name", true)
	late.Intercept(nil)
	late.Release()
	if err := <-refused; !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("a take of what is held: %v", err)
	}
	await(t, "the server was about to release", saved.Load)
	awaitKeys(t, s[:1], "name", false)
	watched.Intercept(nil)
	for _, server := range s[1:] {
		mustCommand(t, server, "DEL", "lock:name")
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
	if mustCommand(t, s[0], "EXISTS", "lock:name") != int64(1) {
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

// The same for the second half of a vote: a server that was restarted after the take still raises the token
// of a key that it has kept.
func TestRaiseAfterARestartIsNoVote(t *testing.T) {
	t.Parallel()
	const ttl = time.Minute // the test takes a small part of that
	s := servers(t, 3)
	guarded := []redlock.Option{maxNodeTimeout, redlock.WithNodes(redis.WithMaxTTL(ttl))}
	makeVote(t, addresses(s), guarded)
	awaitKeys(t, s, "warm up", false)

	ahead := redisserver.ProxyForTest(t, s[1].Addr()) // its answer comes last, and its token is the largest
	away := redisserver.ProxyForTest(t, s[2].Addr())
	away.Refuse()
	mustCommand(t, s[1], "SET", "{lock:name}:token", "9000000000000000")
	e := openGuarded(t, []string{s[0].Addr(), ahead.Addr(), away.Addr()}, guarded...)
	ahead.Intercept(func([]byte) redisserver.Action { return redisserver.Hold })
	taken := make(chan error, 1)
	r := request("name")
	r.TTL = ttl
	go func() {
		_, err := e.Take(t.Context(), r)
		taken <- err
	}()
	awaitKeys(t, s[:1], "name", true)
	mustCommand(t, s[0], "SAVE")
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
	if token := mustCommand(t, s[0], "GET", "{lock:name}:token"); token != "9000000000000001" {
		t.Fatalf("the last token there is %v: it was not asked to raise it, so nothing is shown: %v", token, err)
	}
}

// A lock is taken away by a majority and granted to the next holder. A server of that majority dies and comes
// back with older data. The first holder has the key there again, and on the server that missed all this; but
// one of the two has no vote.
func TestYesOfAServerWithoutAVoteRenewsNothing(t *testing.T) {
	t.Parallel()
	const ttl = time.Minute // the test takes a small part of that
	s := servers(t, 3)
	guarded := guardedFor(ttl)
	makeVote(t, addresses(s), guarded)
	first := openGuarded(t, addresses(s), guarded...)
	held := requestBy("first", "name", ttl)
	began := time.Now()
	g, err := first.Take(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	awaitKeys(t, s, "name", true)
	mustCommand(t, s[0], "SAVE")
	away := redisserver.ProxyForTest(t, s[2].Addr())
	away.Refuse()
	operator := openGuarded(t, []string{s[0].Addr(), s[1].Addr(), away.Addr()}, guarded...)
	if err := operator.ForceRelease(t.Context(), held.Key, g.Token); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Take(t.Context(), requestBy("next", "name", ttl)); err != nil {
		t.Fatal(err)
	}
	s[0].Kill()
	if err := s[0].Restart(); err != nil {
		t.Fatal(err)
	}
	await(t, "all servers have answered", func() bool { // first a connection to the old process may break
		err = renewWithTimeout(t, first, held)
		return err == nil || driver.IsNo(err)
	})
	if time.Since(began) > ttl-time.Second {
		t.Fatal("this machine is too slow to show it: the lease of the next one may have ended")
	}
	if !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("two hold the lock: a holder that lost it renews: %v", err)
	}
}
