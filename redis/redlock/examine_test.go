package redlock_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// startPersistentServers starts servers that forget nothing, so that there is nothing to find.
func startPersistentServers(t *testing.T, n int) (all []*redisserver.Server) {
	t.Helper()
	for range n {
		all = append(all,
			redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}}))
	}
	return all
}

// examine returns the findings, as "severity code server".
func examine(t *testing.T, e *redlock.Engine) (servers []admin.Server, found []string) {
	t.Helper()
	x, err := admin.New(e).Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range x.Findings {
		if f.Text == "" || f.Fix == "" {
			t.Errorf("the text or the fix of %+v is empty", f)
		}
		found = append(found, strings.TrimSpace(fmt.Sprint(f.Severity, " ", f.Code, " ", f.Server)))
	}
	slices.Sort(found)
	return x.Servers, found
}

func wantFound(t *testing.T, e *redlock.Engine, want ...string) []admin.Server {
	t.Helper()
	servers, found := examine(t, e)
	if slices.Sort(want); !slices.Equal(found, want) {
		t.Errorf("found\n  %s\nwant\n  %s", strings.Join(found, "\n  "), strings.Join(want, "\n  "))
	}
	return servers
}

// openVoting opens a guarded engine on servers that vote: they have run for longer than leases last.
func openVoting(t *testing.T, at []string, opts ...redlock.Option) *redlock.Engine {
	t.Helper()
	guarded := append(opts, patient, redlock.WithNodes(redis.WithMaxTTL(time.Second)))
	makeVote(t, at, guarded)
	e := openGuarded(t, at, guarded...)
	await(t, "all vote, and not a majority alone", func() bool {
		votes, err := e.Votes(t.Context(), request("any").Key)
		return err == nil &&
			!slices.ContainsFunc(votes, func(v driver.Vote) bool { return v.Err != nil || v.Closed > 0 })
	})
	return e
}

func TestExamineFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	at := addresses(startPersistentServers(t, 5))
	servers := wantFound(t, openVoting(t, at))
	for i, p := range servers {
		if p.Name != at[i] || !p.Votes || p.Err != nil || p.Version == "" || p.Role != "master" || p.RoundTrip <= 0 ||
			!p.HasClock ||
			p.Closed != 0 {
			t.Errorf("the server %s is %+v", at[i], p)
		}
	}
	if len(servers) != 5 {
		t.Errorf("the servers are %+v", servers)
	}
	wantFound(t, openVoting(t, addresses(startPersistentServers(t, 4))), "note even-number")
	wantFound(t, openVoting(t, addresses(startPersistentServers(t, 2))), "warning too-few-nodes")
	wantFound(t, open(t, at), "note guard-off")
}

// Each fault of a server is found, once, and whether a majority is left.
func TestExamineFindsFaultsOfServers(t *testing.T) {
	t.Parallel()
	s := startPersistentServers(t, 3)
	at := addresses(s)
	e := openVoting(t, at)
	mustCommand(t, s[1], "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "volatile-lru")
	wantFound(t, e, "critical eviction-policy "+at[1])
	mustCommand(t, s[1], "CONFIG", "SET", "maxmemory-policy", "noeviction")
	wantFound(t, e)
	mustCommand(t, s[0], "CONFIG", "SET", "maxmemory", "1000")
	wantFound(t, e, "warning memory-full "+at[0])
	mustCommand(t, s[1], "CONFIG", "SET", "maxmemory", "1000")
	wantFound(t, e, "critical memory-full "+at[0], "critical memory-full "+at[1], "critical no-majority")
	for _, server := range s[:2] {
		mustCommand(t, server, "CONFIG", "SET", "maxmemory", "0")
	}

	guarded := openGuarded(t, at, patient,
		redlock.WithNodes(redis.WithPrefix("of others:"))) // no program has used the servers with this prefix
	var closed []string
	for _, address := range at {
		closed = append(closed, "critical grants-closed "+address)
	}
	wantFound(t, guarded, append(closed, "critical no-majority")...)

	s[2].Kill()
	servers := wantFound(t, e, "warning server-error "+at[2])
	if len(servers) != 3 || servers[2].Name != at[2] || servers[2].Err == nil {
		t.Errorf("the servers are %+v", servers)
	}
	if err := s[1].Pause(); err != nil {
		t.Fatal(err)
	}
	hasty := openGuarded(t, at, redlock.WithNodeTimeout(time.Second), redlock.WithNodes(redis.WithMaxTTL(time.Second)))
	servers = wantFound(t, hasty,
		"critical server-error "+at[2], "critical server-silent "+at[1], "critical no-majority")
	if !errors.Is(servers[1].Err, admin.ErrSilent) {
		t.Errorf("the frozen server is %+v", servers[1])
	}
	s[0].Kill()
	s[1].Kill()
	if x, err := admin.New(hasty).Examine(t.Context()); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("no server runs: %+v, %v", x, err)
	}
}

// Servers that belong to another list, or to none, are found.
func TestExamineFindsLists(t *testing.T) {
	t.Parallel()
	at := addresses(startPersistentServers(t, 6))
	openVoting(t, at[:3])
	makeVote(t, at[3:4], []redlock.Option{patient, redlock.WithNodes(redis.WithMaxTTL(time.Second))})
	openToExamine := func(at ...string) *redlock.Engine {
		t.Helper()
		e, err := redlock.OpenToExamine("redlock://" + strings.Join(at, ",") + "?node_timeout=5s&max_ttl=1s")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	closed := []string{"critical grants-closed " + at[4], "critical grants-closed " + at[5]}
	other := at[3]
	if other < min(at[0], at[1]) { // the first server by name counts as the right one
		other = min(at[0], at[1])
	}
	wantFound(t, openToExamine(at[0], at[3], at[1]), "critical other-list "+other)
	wantFound(t, openToExamine(at[0], at[1], at[4]), "warning grants-closed "+at[4], "warning no-list "+at[4])
	wantFound(t, openToExamine(at[0], at[4], at[5]),
		append(closed, "critical no-majority", "warning no-list "+at[4], "warning no-list "+at[5])...)
	wantFound(t, openToExamine(at[0]), "critical other-list "+at[0], "warning too-few-nodes")
}

// Servers on which no engine can be opened can still be examined, together with the others. They do not vote.
func TestExamineServersThatMustNotVote(t *testing.T) {
	t.Parallel()
	s := startPersistentServers(t, 2)
	replica := redisserver.ReplicaForTest(t, s[0],
		redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}})
	clustered := redisserver.ForTest(t,
		redisserver.Config{Lines: []string{"cluster-enabled yes", "appendonly yes", "appendfsync always"}})
	localhost := strings.Replace(s[0].Addr(), "127.0.0.1", "localhost", 1)
	for _, server := range s {
		alone, err := redis.Open(server.URL() + "?max_ttl=1s") // which belongs to no list
		if err != nil {
			t.Fatal(err)
		}
		if _, err := alone.OpenNow(t.Context(), "a test"); err != nil {
			t.Fatal(err)
		}
		alone.Close()
	}
	openToExamine := func(at ...string) *redlock.Engine {
		t.Helper()
		const settings = "?node_timeout=5s&max_ttl=1s"
		url := "redlock://" + strings.Join(at, ",") + settings
		if e, err := redlock.Open(t.Context(), url); err == nil {
			e.Close()
			t.Errorf("%s: it is not refused", at)
		}
		e, err := redlock.OpenToExamine(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	replicated := []string{"note min-replicas " + s[0].Addr(), "note replicas-without-wait " + s[0].Addr()}
	want := func(more ...string) []string { return append(slices.Clone(replicated), more...) }
	wantFound(t, openToExamine(s[0].Addr(), s[1].Addr(), s[0].Addr()),
		append(want(replicated...), "critical same-server-twice "+s[0].Addr())...)
	twice := openToExamine(s[0].Addr(), s[1].Addr(), localhost)
	wantFound(t, twice,
		want("critical same-server-twice "+localhost, "note min-replicas "+localhost,
			"note replicas-without-wait "+localhost)...)
	mustCommand(t, replica, "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "volatile-lru")
	servers := wantFound(t, openToExamine(s[0].Addr(), s[1].Addr(), replica.Addr()),
		want("critical eviction-policy "+replica.Addr(), "critical replica-as-node "+replica.Addr())...)
	if len(servers) != 3 || servers[2].Votes {
		t.Errorf("the servers are %+v", servers)
	}
	mustCommand(t, replica, "CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction")
	wantFound(t, openToExamine(s[0].Addr(), s[1].Addr(), clustered.Addr()),
		want("critical cluster-as-node "+clustered.Addr())...)

	mustCommand(t, s[1], "SET", "lock:name", "somebody else", "PX", "60000")
	if g, err := twice.Take(t.Context(), request("name")); err == nil {
		t.Errorf("one server has voted twice: %+v", g)
	}
}
