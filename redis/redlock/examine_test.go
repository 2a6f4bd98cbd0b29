package redlock_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// keeping starts servers that forget nothing, so that there is nothing to note.
func keeping(t *testing.T, n int) (all []*redisserver.Server) {
	t.Helper()
	for range n {
		all = append(all, redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}}))
	}
	return all
}

// examine returns what was found, as "severity code place".
func examine(t *testing.T, e *redlock.Engine) (places []leasehold.Place, found []string) {
	t.Helper()
	c := leasehold.New(e)
	defer c.Close()
	x, err := c.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range x.Findings {
		if f.Text == "" || f.Mend == "" {
			t.Errorf("nothing is said of %+v", f)
		}
		found = append(found, strings.TrimSpace(fmt.Sprint(f.Severity, " ", f.Code, " ", f.Place)))
	}
	slices.Sort(found)
	return x.Places, found
}

func wantFound(t *testing.T, e *redlock.Engine, want ...string) []leasehold.Place {
	t.Helper()
	places, found := examine(t, e)
	if slices.Sort(want); !slices.Equal(found, want) {
		t.Errorf("found\n  %s\nwant\n  %s", strings.Join(found, "\n  "), strings.Join(want, "\n  "))
	}
	return places
}

// voting opens a guarded engine on servers that vote: they have run for longer than leases last.
func voting(t *testing.T, at []string, opts ...redlock.Option) *redlock.Engine {
	t.Helper()
	guarded := append(opts, patient, redlock.WithNodes(redis.WithMaxTTL(time.Second)))
	vote(t, at, guarded)
	e := openGuarded(t, at, guarded...)
	await(t, "all vote, and not a majority alone", func() bool {
		votes, err := e.Votes(t.Context(), request("any").Key)
		return err == nil && !slices.ContainsFunc(votes, func(v driver.Vote) bool { return v.Err != nil || v.Closed > 0 })
	})
	return e
}

func TestExamineFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	at := addresses(keeping(t, 5))
	places := wantFound(t, voting(t, at))
	for i, p := range places {
		if p.Name != at[i] || !p.Votes || p.Err != nil || p.Version == "" || p.Role != "master" || p.RoundTrip <= 0 || !p.HasClock || p.Closed != 0 {
			t.Errorf("the place of %s is %+v", at[i], p)
		}
	}
	if len(places) != 5 {
		t.Errorf("the places are %+v", places)
	}
	wantFound(t, voting(t, addresses(keeping(t, 4))), "note even-number")
	wantFound(t, voting(t, addresses(keeping(t, 2))), "warning too-few-nodes")
	wantFound(t, open(t, at), "note guard-off")
}

// Each fault of a server is found, once, and whether a majority is left.
func TestExamineFindsFaultsOfServers(t *testing.T) {
	t.Parallel()
	s := keeping(t, 3)
	at := addresses(s)
	e := voting(t, at)
	tell(t, s[1], "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "volatile-lru")
	wantFound(t, e, "critical eviction-policy "+at[1])
	tell(t, s[1], "CONFIG", "SET", "maxmemory-policy", "noeviction")
	wantFound(t, e)
	tell(t, s[0], "CONFIG", "SET", "maxmemory", "1000")
	wantFound(t, e, "warning memory-full "+at[0])
	tell(t, s[1], "CONFIG", "SET", "maxmemory", "1000")
	wantFound(t, e, "critical memory-full "+at[0], "critical memory-full "+at[1], "critical no-majority")
	for _, server := range s[:2] {
		tell(t, server, "CONFIG", "SET", "maxmemory", "0")
	}

	guarded := openGuarded(t, at, patient, redlock.WithNodes(redis.WithPrefix("of others:"))) // nobody has seen the servers in use for it
	var closed []string
	for _, address := range at {
		closed = append(closed, "critical grants-closed "+address)
	}
	wantFound(t, guarded, append(closed, "critical no-majority")...)

	s[2].Kill()
	places := wantFound(t, e, "warning place-error "+at[2])
	if len(places) != 3 || places[2].Name != at[2] || places[2].Err == nil {
		t.Errorf("the places are %+v", places)
	}
	if err := s[1].Pause(); err != nil {
		t.Fatal(err)
	}
	hasty := openGuarded(t, at, redlock.WithNodeTimeout(time.Second), redlock.WithNodes(redis.WithMaxTTL(time.Second)))
	if places := wantFound(t, hasty, "critical place-error "+at[2], "critical place-silent "+at[1], "critical no-majority"); !errors.Is(places[1].Err, leasehold.ErrSilent) {
		t.Errorf("the place that stands still: %+v", places[1])
	}
	s[0].Kill()
	s[1].Kill()
	c := leasehold.New(hasty)
	defer c.Close()
	if x, err := c.Examine(t.Context()); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("no server is there: %+v, %v", x, err)
	}
}

// It is told which servers belong to another list, or to none.
func TestExamineFindsLists(t *testing.T) {
	t.Parallel()
	at := addresses(keeping(t, 6))
	voting(t, at[:3])
	vote(t, at[3:4], []redlock.Option{patient, redlock.WithNodes(redis.WithMaxTTL(time.Second))})
	look := func(at ...string) *redlock.Engine {
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
	if other < min(at[0], at[1]) { // the first one by name is taken for right
		other = min(at[0], at[1])
	}
	wantFound(t, look(at[0], at[3], at[1]), "critical other-list "+other)
	wantFound(t, look(at[0], at[1], at[4]), "warning grants-closed "+at[4], "warning no-list "+at[4])
	wantFound(t, look(at[0], at[4], at[5]), append(closed, "critical no-majority", "warning no-list "+at[4], "warning no-list "+at[5])...)
	wantFound(t, look(at[0]), "critical other-list "+at[0], "warning too-few-nodes")
}

// Servers with which no engine can be opened can be examined, and the others with them. They do not vote.
func TestExamineServersThatMustNotVote(t *testing.T) {
	t.Parallel()
	s := keeping(t, 2)
	replica := redisserver.ReplicaForTest(t, s[0], redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}})
	clustered := redisserver.ForTest(t, redisserver.Config{Lines: []string{"cluster-enabled yes", "appendonly yes", "appendfsync always"}})
	localhost := strings.Replace(s[0].Addr(), "127.0.0.1", "localhost", 1)
	for _, server := range s {
		alone, err := redis.Open(server.URL() + "?max_ttl=1s") // of no list
		if err != nil {
			t.Fatal(err)
		}
		if _, err := alone.OpenNow(t.Context(), "a test"); err != nil {
			t.Fatal(err)
		}
		alone.Close()
	}
	look := func(at ...string) *redlock.Engine {
		t.Helper()
		const settings = "?node_timeout=5s&max_ttl=1s"
		url := "redlock://" + strings.Join(at, ",") + settings
		if e, err := redlock.Open(t.Context(), url); err == nil {
			e.Close()
			t.Errorf("%s: nobody refuses it", at)
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
	wantFound(t, look(s[0].Addr(), s[1].Addr(), s[0].Addr()), append(want(replicated...), "critical same-server-twice "+s[0].Addr())...)
	twice := look(s[0].Addr(), s[1].Addr(), localhost)
	wantFound(t, twice, want("critical same-server-twice "+localhost, "note min-replicas "+localhost, "note replicas-without-wait "+localhost)...)
	tell(t, replica, "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "volatile-lru")
	places := wantFound(t, look(s[0].Addr(), s[1].Addr(), replica.Addr()), want("critical eviction-policy "+replica.Addr(), "critical replica-as-node "+replica.Addr())...)
	if len(places) != 3 || places[2].Votes {
		t.Errorf("the places are %+v", places)
	}
	tell(t, replica, "CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction")
	wantFound(t, look(s[0].Addr(), s[1].Addr(), clustered.Addr()), want("critical cluster-as-node "+clustered.Addr())...)

	tell(t, s[1], "SET", "lock:name", "somebody else", "PX", "60000")
	if g, err := twice.Take(t.Context(), request("name")); err == nil {
		t.Errorf("one server has voted twice: %+v", g)
	}
}
