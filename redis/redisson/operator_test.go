package redisson_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

const javaOwner, another = "285475da-9417-4c3a-a9f2-c4bd18f81bf3:42", "285475da-9417-4c3a-a9f2-c4bd18f81bf3:43"

func findLeaks(t *testing.T, e *redisson.Engine) (all []driver.Leak) {
	t.Helper()
	if err := e.Leaks(t.Context(), driver.Query{}, func(l driver.Leak) bool {
		all = append(all, l)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// A lock without an end is a leak until it has another holder or an end.
func TestLocksWithoutAnEndAreSwept(t *testing.T) {
	p := newCommandTest(t)
	for name, e := range map[string]*redisson.Engine{
		"fenced": p.engine, "fair": open(t, standalone(p.server), redisson.WithLock(redisson.Fair)),
	} {
		p.command("HSET", "a", javaOwner, "2")
		p.command("HSET", "with an end", javaOwner, "1")
		p.command("PEXPIRE", "with an end", "60000")
		p.command("HSET", "no lock", "field", "value")
		found := findLeaks(t, e)
		if len(found) != 1 || found[0].Name != "a" || found[0].Sort != driver.EndlessLease || found[0].Token != 0 ||
			found[0].Holder != "Redisson client 285475da-9417-4c3a-a9f2-c4bd18f81bf3" {
			t.Fatalf("%s: found %+v", name, found)
		}
		for change, undo := range map[string][2][]string{
			"an end":         {{"PEXPIRE", "a", "60000"}, {"PERSIST", "a"}},
			"another holder": {{"HSET", "a", another, "1"}, {"HDEL", "a", another}},
		} {
			p.command(undo[0]...)
			if err := e.Sweep(t.Context(), found[0]); !errors.Is(err, driver.ErrNotHeld) {
				t.Errorf("%s: Sweep with %s: %v", name, change, err)
			}
			p.command(undo[1]...)
		}
		if err := e.Sweep(t.Context(), found[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p.expect(int64(0), "EXISTS", "a")
		p.expect(int64(2), "EXISTS", "with an end", "no lock")
		if err := e.Sweep(t.Context(), found[0]); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("%s: Sweep once more: %v", name, err)
		}
	}
}

// always is the configuration of a server that forgets nothing.
var always = redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}}

// beforeWrites is a hook of go-redis that runs a function before each script that may write.
type beforeWrites func(ctx context.Context)

func (beforeWrites) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (beforeWrites) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (run beforeWrites) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "evalsha" {
			run(ctx)
		}
		return next(ctx, cmd)
	}
}

// A forced release from a holder without a token arrives late: another one without a token holds the lock by then. It
// keeps it.
func TestLateForcedReleaseWithoutAToken(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]redisson.LockType{
		"plain": redisson.Plain, "fenced": redisson.Fenced, "fair": redisson.Fair, "readwrite": redisson.ReadWrite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			mode, field := []any{"HSET", "a"}, func(owner string) string { return owner }
			if lock == redisson.ReadWrite {
				mode, field = append(mode, "mode", "write"), func(owner string) string { return owner + ":write" }
			}
			hold := func(owner string) { w.do(append(mode, field(owner), 1)...) }
			hold(javaOwner)
			w.do("PEXPIRE", "a", 60_000)
			client := standalone(w.server)(t)
			e := open(t, func(*testing.T) goredis.UniversalClient { return client }, redisson.WithLock(lock))
			client.AddHook(beforeWrites(func(context.Context) {
				w.do("HDEL", "a", field(javaOwner))
				hold(another)
			}))
			key := driver.Key{Kind: driver.Lock, Name: "a"}
			if err := e.ForceRelease(t.Context(), key, 0); !errors.Is(err, driver.ErrNotHeld) {
				t.Errorf("a late ForceRelease: %v", err)
			}
			if w.do("HGET", "a", field(another)) != "1" {
				t.Error("the next holder has lost the lock")
			}
			if err := e.ForceRelease(t.Context(), key, 0); err != nil {
				t.Errorf("ForceRelease: %v", err)
			}
			if err := e.ForceRelease(t.Context(), key, 0); !errors.Is(err, driver.ErrNotHeld) {
				t.Errorf("ForceRelease of a free lock: %v", err)
			}
		})
	}
}

// So does a permit that another program has taken since.
func TestLateForcedReleaseOfAPermit(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	const id, next = "0123456789abcdef", "fedcba9876543210"
	hold := func(id string) { w.do("ZADD", "{a}:timeout", "922337203685477", id) }
	w.do("SET", "a", 0)
	hold(id)
	client := standalone(w.server)(t)
	e := open(t, func(*testing.T) goredis.UniversalClient { return client })
	client.AddHook(beforeWrites(func(context.Context) {
		w.do("ZREM", "{a}:timeout", id)
		hold(next)
	}))
	key := driver.Key{Kind: driver.Semaphore, Name: "a"}
	if err := e.ForceRelease(t.Context(), key, 0); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("a late ForceRelease: %v", err)
	}
	if w.do("GET", "a") != "0" {
		t.Error("the next holder has lost its permit")
	}
	if err := e.ForceRelease(t.Context(), key, 0); err != nil {
		t.Errorf("ForceRelease: %v", err)
	}
	if w.do("GET", "a") != "1" {
		t.Error("the permit did not come back")
	}
}

func codes(x driver.Examination) string {
	var all []string
	for _, f := range x.Findings {
		all = append(all, f.Severity.String()+" "+f.Code)
	}
	return strings.Join(all, ", ")
}

// The doctor tells what it means that there is no failover guard, and what else the server says.
func TestExamine(t *testing.T) {
	t.Parallel()
	safe := redisserver.ForTest(t, always)
	forgetful := redisserver.ForTest(t, redisserver.Config{})
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	for name, it := range map[string]struct {
		client newClient
		count  int
		want   string
		opts   []redisson.Option
	}{
		"safe":      {standalone(safe), 1, "", nil},
		"forgetful": {standalone(forgetful), 1, "note persistence-off, warning no-guard", nil},
		"cluster": {cluster(c), 3, strings.TrimSuffix(
			strings.Repeat("note persistence-off, warning no-guard, ", 3), ", "), nil},
		"without a replica that confirms": {standalone(forgetful), 1,
			"note persistence-off, critical too-few-replicas, warning no-guard",
			[]redisson.Option{redisson.WithReplicas(1, time.Second)}},
		"one of a cluster": {standalone(c.Nodes[0]), 1, "critical wrong-mode", nil},
		"no cluster, as one": {cluster(&redisserver.Cluster{Nodes: []*redisserver.Server{forgetful}}), 0,
			"critical wrong-mode", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := open(t, it.client, it.opts...).Examine(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := codes(x); got != it.want || len(x.Servers) != it.count {
				t.Errorf("found %q on %d servers, want %q", got, len(x.Servers), it.want)
			}
			for _, s := range x.Servers {
				if s.Role != "master" || s.Version == "" || !s.Votes || s.RoundTrip <= 0 || !s.HasClock ||
					s.Name == "" || s.Uptime < 0 || s.Uptime > time.Hour {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// What is wrong with a replica is reported, because it counts after a promotion.
func TestExamineFindsFaultsOfReplicas(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, always)
	sentinels := redisserver.SentinelsForTest(t, 1, r)
	master, replica := r.Master.Addr(), r.Replicas[0].Addr()
	behind := "redisson+sentinel://" + strings.Join(sentinels.Addrs(), ",") + "/" + redisserver.MasterName
	user := "redisson://locks:secret@" + master
	set := func(s *redisserver.Server, args ...string) {
		t.Helper()
		if _, err := s.Command(args...); err != nil {
			t.Fatal(err)
		}
	}
	newUser := func(s *redisserver.Server, more ...string) {
		t.Helper()
		set(s, append([]string{"ACL", "SETUSER", "locks", "on", ">secret", "~*", "&*", "+@all"}, more...)...)
	}
	newUser(r.Master)
	plain := "redisson://" + master
	for _, step := range []struct {
		before func()
		url    string
		want   string // the findings about the replica, and those about how they copy
	}{
		{func() {}, plain, "note min-replicas"},
		{func() {}, behind, "warning min-replicas"},
		{func() {
			set(r.Replicas[0], "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "volatile-lru")
		}, plain, "note min-replicas, warning eviction-policy"},
		{func() { set(r.Replicas[0], "CONFIG", "SET", "maxmemory-policy", "noeviction") }, user,
			"note min-replicas, warning replica-rights"},
		{func() { newUser(r.Replicas[0], "-hset") }, user, "note min-replicas, warning rights"},
		{func() { set(r.Master, "CONFIG", "SET", "min-replicas-to-write", "1") }, plain, ""},
		{func() { must(t, r.Replicas[0].Pause()) }, plain, "note replica-not-looked-at"},
	} {
		step.before()
		e, err := redisson.Open(step.url)
		must(t, err)
		x, err := e.Examine(t.Context())
		must(t, err)
		must(t, e.Close())
		var found []string
		for _, f := range x.Findings {
			wanted := map[bool]string{true: master, false: replica}[f.Code == "min-replicas"]
			switch f.Code {
			case "no-guard", "tls-off":
				continue
			}
			found = append(found, f.Severity.String()+" "+f.Code)
			if f.Server != wanted {
				t.Errorf("%s: %+v", step.url, f)
			}
		}
		if got := strings.Join(found, ", "); got != step.want {
			t.Errorf("%s: found %q, want %q", step.url, got, step.want)
		}
		if len(x.Servers) != 2 || x.Servers[0].Name != master || x.Servers[1].Name != replica ||
			x.Servers[1].Role != "replica" || x.Servers[1].Votes {
			t.Errorf("%s: servers %+v", step.url, x.Servers)
		}
	}
}

// A client of the program's own leads to masters only.
func TestExamineSaysThatReplicasWereNotAsked(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 1, always)
	opened, err := redisson.Open("redisson+cluster://" + strings.Join(c.Addrs(), ","))
	must(t, err)
	defer opened.Close()
	const guards = "warning no-guard, warning no-guard, warning no-guard"
	for e, want := range map[*redisson.Engine]string{
		open(t, cluster(c)): guards + ", note replica-not-looked-at", opened: guards,
	} {
		x, err := e.Examine(t.Context())
		must(t, err)
		if got := codes(x); got != want || len(x.Servers) != 6 {
			t.Errorf("found %q on %d servers, want %q on 6", got, len(x.Servers), want)
		}
	}
}
