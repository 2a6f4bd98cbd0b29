package redlock_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

func TestServersThatMustNotVote(t *testing.T) {
	t.Parallel()
	s := servers(t, 2)
	replica := redisserver.ReplicaForTest(t, s[0], redisserver.Config{})
	clustered := redisserver.ForTest(t, redisserver.Config{Lines: []string{"cluster-enabled yes"}})
	localhost := strings.Replace(s[0].Addr(), "127.0.0.1", "localhost", 1)

	refused := func(want any, what string, at ...string) {
		t.Helper()
		e, err := redlock.New(t.Context(), clients(t, at), patient)
		if err == nil {
			e.Close()
		}
		if !errors.As(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same, other := new(*redlock.SameServerError), new(*redlock.NotIndependentError)
	refused(same, "the same address twice", s[0].Addr(), s[1].Addr(), s[0].Addr())
	refused(same, "the same server by two names", s[0].Addr(), s[1].Addr(), localhost)
	refused(other, "a replica", s[0].Addr(), s[1].Addr(), replica.Addr())
	refused(other, "a node of a Cluster", s[0].Addr(), s[1].Addr(), clustered.Addr())
	if e, err := redlock.New(t.Context(), nil); err == nil {
		e.Close()
		t.Error("an engine without servers is opened")
	}
	cluster := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{s[0].Addr()}})
	if e, err := redlock.New(t.Context(), []goredis.UniversalClient{cluster}); err == nil {
		e.Close()
		t.Error("the client of a Cluster stands for one server")
	}
}

// A server that does not answer at first is checked before it votes.
func TestSameServerIsNoticedLate(t *testing.T) {
	t.Parallel()
	s := servers(t, 2)
	p := redisserver.ProxyForTest(t, s[0].Addr())
	p.Freeze()
	e := open(t, []string{s[0].Addr(), s[1].Addr(), p.Addr()}, redlock.WithNodeTimeout(3*time.Second))
	p.Thaw()
	s[1].Kill()
	same := new(*redlock.SameServerError)
	for end := time.Now().Add(patience); ; { // until the server has said in time what it is
		_, err := e.Take(t.Context(), request("name"))
		if slices.ContainsFunc(votesOf(t, err), func(v redlock.Vote) bool { return errors.As(v.Err, same) }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("one server counts as two: %v", err)
		}
	}
}

func request(name string) driver.Request {
	return driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: name},
		Owner:  "owner-of-" + name,
		Size:   1,
		Weight: 1,
		TTL:    20 * time.Second,
		Tokens: 1,
	}
}

func votesOf(t *testing.T, err error) []redlock.Vote {
	t.Helper()
	failed, ok := errors.AsType[*redlock.Error](err)
	if !ok {
		t.Fatalf("an error without votes: %v", err)
	}
	return failed.Votes
}

// The error of a take says how each server has voted.
func TestVotes(t *testing.T) {
	t.Parallel()
	s := servers(t, 5)
	p := redisserver.ProxyForTest(t, s[1].Addr())
	at := addresses(s)
	at[1] = p.Addr()
	e := open(t, at, redlock.WithNodeTimeout(3*time.Second))
	if _, err := s[4].Command("SET", "lock:name", "somebody else", "PX", "60000"); err != nil {
		t.Fatal(err)
	}
	if _, err := s[3].Command("LPUSH", "{lock:name}:token", "of another program"); err != nil {
		t.Fatal(err)
	}
	p.Freeze()
	s[2].Kill()
	_, err := e.Take(t.Context(), request("name"))
	if err == nil || errors.Is(err, driver.ErrHeld) {
		t.Fatalf("a take with one vote of five: %v", err)
	}
	want := map[string][]redlock.Answer{
		at[0]: {redlock.Granted},
		at[1]: {redlock.NoAnswer},
		at[2]: {redlock.Failed, redlock.NoAnswer},
		at[3]: {redlock.Failed},
		at[4]: {redlock.Held},
	}
	for _, v := range votesOf(t, err) {
		if !slices.Contains(want[v.Node], v.Answer) && v.Answer != redlock.Undecided {
			t.Errorf("%s: %s, want one of %v", v.Node, v.Answer, want[v.Node])
		}
		if v.Answer == redlock.Held &&
			(v.Left <= 0 || v.Left > time.Minute || !strings.Contains(err.Error(), "held by another for another ")) {
			t.Errorf("%s: held for another %v, want up to a minute: %v", v.Node, v.Left, err)
		}
	}
	if strings.Contains(err.Error(), "owner-of-name") {
		t.Errorf("the error shows the owner: %v", err)
	}
}

// A holder has three of five servers. One of them dies, loses its data, and comes back. Nobody else may get
// the lock before the lease has ended, and no operator has to do anything for that. The test shows that
// somebody would get it without the guard.
func TestServerThatComesBackEmpty(t *testing.T) {
	t.Parallel()
	const ttl = time.Minute // the test takes a small part of it
	s := servers(t, 5)
	at := addresses(s)
	guarded := []redlock.Option{redlock.WithNodeTimeout(3 * time.Second), redlock.WithNodes(redis.WithMaxTTL(ttl))}
	makeVote(t, at, guarded)
	for _, server := range s[3:] { // they miss the holder's take
		if err := server.Pause(); err != nil {
			t.Fatal(err)
		}
	}
	holder := openGuarded(t, at, guarded...)
	r := request("name")
	r.TTL = ttl
	began := time.Now()
	if _, err := holder.Take(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	s[2].Kill()
	for _, server := range s[3:] {
		server.Kill() // otherwise the holder's requests would reach them now
	}
	for _, server := range s[2:] {
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	second := request("name")
	second.Owner, second.TTL = "second", ttl
	_, err := openGuarded(t, at, guarded...).Take(t.Context(), second)
	if err == nil {
		t.Fatal("two hold the lock")
	}
	closed := 0
	for _, v := range votesOf(t, err) {
		if v.Answer == redlock.Closed {
			closed++
			if left := time.Until(v.Until); left <= 0 || left > ttl+2*time.Second {
				t.Errorf("%s votes again in %v", v.Node, left)
			}
		}
	}
	if closed == 0 {
		t.Errorf("no server says that it does not vote yet: %v", err)
	}
	if time.Since(began) > ttl {
		t.Fatal("this machine is too slow: the lease has ended")
	}
	third := request("name")
	third.Owner, third.TTL = "third", ttl
	if _, err := open(t, at, redlock.WithNodeTimeout(3*time.Second)).Take(t.Context(), third); err != nil {
		t.Errorf("without the guard the lock is not granted a second time, so nothing is shown: %v", err)
	}
}

// One of three servers is replaced, under its address, by a spare that has run for long. The spare has no
// vote, as it may lack what the other server has granted.
func TestSpareHasNoVote(t *testing.T) {
	t.Parallel()
	// On a busy machine the lease may end before it is checked.
	for ttl := 3 * time.Second; !checkSpareHasNoVote(t, ttl); ttl *= 2 {
		if ttl > patience {
			t.Fatal("the lease has ended each time before it was checked")
		}
	}
}

// checkSpareHasNoVote reports whether the lease of the holder lasted until the end of the check.
func checkSpareHasNoVote(t *testing.T, ttl time.Duration) bool {
	t.Helper()
	s := servers(t, 4)
	spare := s[3]
	var at []string
	var ways []*redisserver.Proxy
	for _, server := range s[:3] {
		way := redisserver.ProxyForTest(t, server.Addr())
		ways, at = append(ways, way), append(at, way.Addr())
	}
	guarded := []redlock.Option{patient, redlock.WithNodes(redis.WithMaxTTL(ttl))}
	makeVote(t, at, guarded)
	await(t, "the spare has run for long", func() bool {
		text, err := spare.Info("uptime_in_seconds")
		seconds, _ := strconv.Atoi(text)
		return err == nil && time.Duration(seconds)*time.Second > ttl+time.Second
	})
	ways[2].Refuse() // the third server cannot be reached for a moment
	holder := openGuarded(t, at, guarded...)
	r := request("name")
	r.TTL = ttl
	began := time.Now()
	if _, err := holder.Take(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	replaced := redisserver.ProxyForTest(t, spare.Addr()) // stands for the second server from now on
	at[1] = replaced.Addr()
	s[1].Kill()
	at[2] = s[2].Addr()
	second := request("name")
	second.Owner, second.TTL = "second", ttl
	_, err := openGuarded(t, at, guarded...).Take(t.Context(), second)
	if time.Since(began) > ttl-100*time.Millisecond {
		return false
	}
	if err == nil {
		t.Fatal("two hold the lock")
	}
	for _, v := range votesOf(t, err) {
		if v.Node == at[1] && v.Answer == redlock.Granted { // nor does the spare belong to the list under this address
			t.Errorf("the spare says %s", v)
		}
	}
	return true
}

// makeVote makes servers vote that were started for a test: all of them, so that a test may go on with any.
func makeVote(t *testing.T, at []string, opts []redlock.Option) {
	t.Helper()
	e := openGuarded(t, at, opts...)
	r := request("warm up")
	var err error
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if _, err = e.OpenNow(t.Context(), "a test"); err == nil {
			_, err = e.Take(t.Context(), r)
		}
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if err := e.Release(t.Context(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}}); err != nil {
		t.Fatal(err)
	}
}

// A frozen server, and one behind a silent network, cost nothing.
func TestSilentServersCostNothing(t *testing.T) {
	t.Parallel()
	s := servers(t, 5)
	p := redisserver.ProxyForTest(t, s[1].Addr())
	at := addresses(s)
	at[1] = p.Addr()
	e := open(t, at, redlock.WithNodeTimeout(10*time.Second)) // if anything waited for them, it would show
	client := leasehold.New(e)
	t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	m := client.Mutex("name")
	var last uint64
	round := func() {
		t.Helper()
		lease, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if lease.Token() <= last {
			t.Errorf("token %d follows %d", lease.Token(), last)
		}
		last = lease.Token()
		if err := lease.Extend(ctx, leasehold.DefaultTTL+time.Second); err != nil {
			t.Error(err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	}
	round()
	if err := s[0].Pause(); err != nil {
		t.Fatal(err)
	}
	p.Freeze()
	for range 20 {
		round()
	}
	if err := s[0].Resume(); err != nil {
		t.Fatal(err)
	}
	p.Thaw()
	round()
}
