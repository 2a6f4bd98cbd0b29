package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// examine returns the servers, and the findings as "severity code server", in order.
func examine(t *testing.T, e *redis.Engine) (servers []driver.Server, found []string) {
	t.Helper()
	x, err := e.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range x.Findings {
		if f.Text == "" || f.Fix == "" {
			t.Errorf("a finding without a text or a fix: %+v", f)
		}
		found = append(found, strings.TrimSpace(fmt.Sprint(f.Severity, " ", f.Code, " ", f.Server)))
	}
	slices.Sort(found)
	return x.Servers, found
}

// wantFound fails the test unless these are the findings. It returns the servers.
func wantFound(t *testing.T, e *redis.Engine, want ...string) []driver.Server {
	t.Helper()
	servers, found := examine(t, e)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(found, want) {
		t.Errorf("found\n  %s\nwant\n  %s", strings.Join(found, "\n  "), strings.Join(want, "\n  "))
	}
	return servers
}

// openURL opens an engine of a URL, as the command does.
func openURL(t *testing.T, url string) *redis.Engine {
	t.Helper()
	e, err := redis.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return e
}

// Healthy servers cause no findings above a note, and each is reported with its figures.
func TestExamineFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	always := redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always", "maxmemory 500mb",
		"maxmemory-policy noeviction"}}
	check := func(t *testing.T, e *redis.Engine, voting, others int, want ...string) {
		t.Helper()
		servers := wantFound(t, e, want...)
		for _, p := range servers {
			if p.Votes {
				voting--
			} else {
				others--
			}
			if p.Err != nil || p.Version == "" || p.Uptime < 0 || p.RoundTrip <= 0 || !p.HasClock ||
				p.Ahead.Abs() > patience || p.Closed != 0 {
				t.Errorf("the server is %+v", p)
			}
			if role := map[bool]string{true: "master", false: "replica"}[p.Votes]; p.Role != role {
				t.Errorf("the role of %s is %q, want %q", p.Name, p.Role, role)
			}
		}
		if voting != 0 || others != 0 {
			t.Errorf("the servers are %+v", servers)
		}
	}
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		s := redisserver.ForTest(t, always)
		trust(t, s)
		for _, e := range []*redis.Engine{open(t, standalone(s)), open(t, pipelined(standalone(s))),
			openURL(t, s.URL())} {
			check(t, e, 1, 0)
		}
	})
	t.Run("sentinels", func(t *testing.T) {
		t.Parallel()
		c := always
		c.Lines = append(slices.Clone(c.Lines), "min-replicas-to-write 1", "min-replicas-max-lag 10")
		r := redisserver.ReplicatedForTest(t, 1, c)
		trust(t, r.Master)
		s := redisserver.SentinelsForTest(t, 1, r)
		master, replica := r.Master.Addr(), r.Replicas[0].Addr()
		e := openURL(t, "redis+sentinel://"+strings.Join(s.Addrs(), ",")+"/"+redisserver.MasterName)
		check(t, e, 1, 1, "note replicas-without-wait "+master)
		if servers, _ := examine(t, e); servers[0].Name != master || servers[1].Name != replica {
			t.Errorf("the servers are %+v, want %s and %s", servers, master, replica)
		}
		confirmed := openURL(t,
			"redis+sentinel://"+strings.Join(s.Addrs(), ",")+"/"+redisserver.MasterName+"?replicas=1")
		check(t, confirmed, 1, 1)
		_, found := examine(t, open(t, failover(s)))
		port := master[strings.LastIndex(master, ":")+1:]
		want := []string{"note replica-not-looked-at", "note replicas-without-wait port " + port}
		if !slices.Equal(found, want) {
			t.Errorf("a client of the caller's: found %q, want %q", found, want)
		}
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := redisserver.ClusterForTest(t, 3, 1, always)
		var want []string
		for _, n := range c.Nodes[:3] {
			trust(t, n)
			want = append(want, "note replicas-without-wait "+n.Addr())
		}
		check(t, openURL(t, "redis+cluster://"+strings.Join(c.Addrs(), ",")), 3, 3, want...)
		for _, client := range clusterClients(c) {
			wantFound(t, open(t, client), append(slices.Clone(want), "note replica-not-looked-at")...)
		}
	})
}

// Each bad setting is found, once.
func TestExamineFindsSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines   string
		opts    []redis.Option
		want    string // without the server
		general bool   // it is not about one server
	}{
		"volatile-lru": {
			lines: "maxmemory 100mb\nmaxmemory-policy volatile-lru\nappendonly yes\nappendfsync always",
			want:  "critical eviction-policy",
		},
		"allkeys-lfu": {
			lines: "maxmemory 100mb\nmaxmemory-policy allkeys-lfu\nappendonly yes\nappendfsync always",
			want:  "critical eviction-policy",
		},
		"volatile-lru, no limit": {lines: "maxmemory-policy volatile-lru\nappendonly yes\nappendfsync always",
			want: "note eviction-policy"},
		"nothing is kept": {want: "note persistence-off"},
		"snapshots":       {lines: "save 3600 1", want: "note persistence-snapshots"},
		"everysec":        {lines: "appendonly yes", want: "note persistence-everysec"},
		"full": {lines: "maxmemory 100mb\nappendonly yes\nappendfsync always",
			want: "critical memory-full"},
		"no guard, but a disk": {lines: "appendonly yes\nappendfsync always",
			opts: []redis.Option{redis.WithoutFailoverGuard()}, want: "note guard-off", general: true},
		"no replicas": {lines: "appendonly yes\nappendfsync always",
			opts: []redis.Option{redis.WithReplicas(1, time.Second)}, want: "critical too-few-replicas"},
		"hidden command": {lines: "rename-command HGET \"\"\nappendonly yes\nappendfsync always",
			want: "critical hidden-commands"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{Lines: strings.Split(c.lines, "\n")})
			trust(t, s)
			if name == "full" {
				command(t, s, "CONFIG", "SET", "maxmemory", "500kb")
			}
			want := c.want + " " + s.Addr()
			if c.general {
				want = c.want
			}
			wantFound(t, open(t, standalone(s), c.opts...), want)
		})
	}
	t.Run("no guard, no disk", func(t *testing.T) {
		t.Parallel()
		s := redisserver.ForTest(t, redisserver.Config{})
		wantFound(t, open(t, standalone(s), redis.WithoutFailoverGuard()), "warning guard-off",
			"note persistence-off "+s.Addr())
	})
}

var persistentLines = []string{"appendonly yes", "appendfsync always"}

// A server that is not of the expected kind is found, and causes no other findings.
// A server whose default user has no password lets in whoever names any.
func TestExamineFindsAPasswordThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	open, secured := redisserver.ForTest(t, redisserver.Config{}), redisserver.ForTest(t,
		redisserver.Config{Password: "geheim"})
	command(t, open, "ACL", "SETUSER", "anna", "on", ">geheim", "allkeys", "allchannels", "+@all")
	for url, want := range map[string]bool{
		"redis://" + open.Addr():             false,
		"redis://:geheim@" + open.Addr():     true,
		"redis://default:any@" + open.Addr(): true,
		"redis://anna:geheim@" + open.Addr(): false,
		"redis://:geheim@" + secured.Addr():  false,
	} {
		_, found := examine(t, openURL(t, url))
		if slices.Contains(found, "warning password-unused "+open.Addr()) != want {
			t.Errorf("%s: found %q", url, found)
		}
	}
}

func TestExamineFindsWrongServers(t *testing.T) {
	t.Parallel()
	t.Run("replica", func(t *testing.T) {
		t.Parallel()
		r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{Lines: persistentLines})
		servers := wantFound(t, open(t, standalone(r.Replicas[0])), "critical replica-as-node "+r.Replicas[0].Addr())
		if len(servers) != 1 || servers[0].Votes || servers[0].Role != "replica" {
			t.Errorf("the servers are %+v", servers)
		}
	})
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
		s := redisserver.SentinelsForTest(t, 1, r).All[0]
		wantFound(t, open(t, standalone(s)), "critical wrong-mode "+s.Addr())
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{Lines: persistentLines})
		wantFound(t, open(t, standalone(c.Nodes[1])), "critical wrong-mode "+c.Nodes[1].Addr())
		for _, n := range c.Nodes {
			trust(t, n)
		}
		e := open(t, hasty(c))
		wantFound(t, e)
		lost, err := c.Owner(redisserver.Slot("a"))
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "all servers forget who owns the slot", func() bool { // a late message of its owner may undo this
			for _, n := range c.Nodes {
				// an error if it has forgotten it already
				_, _ = n.Command("CLUSTER", "DELSLOTS", fmt.Sprint(redisserver.Slot("a")))
			}
			_, found := examine(t, e)
			return slices.Equal(found, []string{"critical cluster-not-covered"})
		})
		if err := lost.Pause(); err != nil {
			t.Fatal(err)
		}
		var servers []driver.Server
		// a message of the owner may have undone it
		eventually(t, "nobody owns the slot, and its last owner is silent", func() bool {
			for _, n := range c.Nodes {
				if n != lost {
					_, _ = n.Command("CLUSTER", "DELSLOTS", fmt.Sprint(redisserver.Slot("a")))
				}
			}
			var found []string
			servers, found = examine(t, e)
			return slices.Equal(found, []string{"critical cluster-not-covered"})
		})
		for _, p := range servers {
			if (p.Name == lost.Addr()) != errors.Is(p.Err, driver.ErrSilent) {
				t.Errorf("%s: %v", p.Name, p.Err)
			}
		}
	})
	t.Run("no cluster", func(t *testing.T) {
		t.Parallel()
		s := redisserver.ForTest(t, redisserver.Config{})
		wantFound(t, open(t, func(t *testing.T) goredis.UniversalClient {
			return closed(t, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{s.Addr()}}))
		}), "critical wrong-mode")
	})
}

// What a user may not read is reported in a note.
func TestExamineWithTheSmallestRights(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: persistentLines})
	trust(t, s)
	addUser(t, s, "locks", smallestRights(t))
	wantFound(t, open(t, asUser(s, "locks")), "note config-unreadable "+s.Addr())
	addUser(t, s, "doctor", slices.Concat(smallestRights(t), documentedRights(t, "doctor")))
	wantFound(t, open(t, asUser(s, "doctor"), redis.WithReplicas(0, 0)))
}

// Each missing right is found, with what it means.
func TestExamineFindsEachRightThatIsMissing(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: persistentLines})
	trust(t, s)
	all := slices.Concat(smallestRights(t), documentedRights(t, "doctor"))
	means := map[string]string{
		"+scan": "warning rights-listing", "+publish": "warning rights-messages",
		"+subscribe":   "warning rights-messages",
		"&lock:wake:*": "warning rights-messages", "&{lock:*": "warning rights-messages",
		"+config|get": "note config-unreadable",
		"~lock:*":     "note rights-names", "~{*}lock:*": "note rights-names",
		"+ping": "note rights-spare", "+unwatch": "note rights-spare", "+unsubscribe": "note rights-spare",
	}
	// The rights for Clusters and replicas are not needed here.
	spare := strings.Fields("+wait +spublish +ssubscribe +sunsubscribe +cluster|nodes +cluster|slots +asking " +
		"&{*}lock:*")
	for i, word := range all {
		if slices.Contains(spare, word) {
			continue
		}
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			user := "without-" + word
			addUser(t, s, user, slices.Delete(slices.Clone(all), i, i+1))
			want := means[word]
			if want == "" {
				want = "critical rights"
			}
			e := open(t, asUser(s, user))
			wantFound(t, e, want+" "+s.Addr())
			x, err := e.Examine(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range x.Findings {
				if !strings.Contains(f.Fix, word) {
					t.Errorf("%s is not named in the fix: %+v", word, f)
				}
			}
		})
	}
	t.Run("no keys", func(t *testing.T) {
		t.Parallel()
		addUser(t, s, "keyless", slices.DeleteFunc(slices.Clone(all), func(word string) bool { return word[0] == '~' }))
		wantFound(t, open(t, asUser(s, "keyless")), "critical rights "+s.Addr())
	})
	t.Run("another database", func(t *testing.T) {
		t.Parallel()
		addUser(t, s, "other", all)
		e := openURL(t, "redis://other:"+userPassword+"@"+s.Addr()+"/2")
		x, err := e.Examine(t.Context())
		if err != nil || len(x.Findings) != 1 || x.Findings[0].Code != "rights" ||
			!strings.Contains(x.Findings[0].Fix, "+select") {
			t.Errorf("%+v, %v", x, err)
		}
	})
}

// A server that was just started grants nothing for a while. Examine finds that out without leaving a trace on the
// server.
func TestExamineReportsForHowLongGrantsAreClosed(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: persistentLines})
	e := open(t, standalone(s))
	for range 2 {
		servers := wantFound(t, e)
		if closed := servers[0].Closed; closed <= 0 || closed > redis.DefaultMaxTTL {
			t.Errorf("grants are closed for %v, want up to %v", closed, redis.DefaultMaxTTL)
		}
	}
	if n := command(t, s, "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys have been written", n)
	}
	opens, err := e.Opens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if apart := time.Until(opens) - wantFound(t, e)[0].Closed; apart.Abs() > 5*time.Second {
		t.Errorf("Opens and Examine differ by %v", apart)
	}
	servers := wantFound(t, open(t, standalone(s), redis.WithoutFailoverGuard()), "note guard-off")
	if servers[0].Closed != 0 {
		t.Errorf("without the guard: closed for %v", servers[0].Closed)
	}
}

// Faults of replicas are reported, because they count after a promotion.
func TestExamineFindsFaultsOfReplicas(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{Lines: persistentLines})
	trust(t, r.Master)
	master, replica := r.Master.Addr(), r.Replicas[0].Addr()
	const without = "note replicas-without-wait "
	e := openURL(t, r.Master.URL())
	wantFound(t, e, "note min-replicas "+master, without+master)
	command(t, r.Replicas[0], "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "volatile-lru")
	wantFound(t, e, "note min-replicas "+master, without+master, "warning eviction-policy "+replica)
	command(t, r.Replicas[0], "CONFIG", "SET", "maxmemory-policy", "noeviction")
	addUser(t, r.Master, "locks", slices.Concat(smallestRights(t), documentedRights(t, "doctor")))
	u := openURL(t, "redis://locks:"+userPassword+"@"+master)
	wantFound(t, u, "note min-replicas "+master, without+master, "warning replica-rights "+replica)
	addUser(t, r.Replicas[0], "locks", append(smallestRights(t), "-set"))
	wantFound(t, u, "note min-replicas "+master, without+master, "warning rights "+replica)
	command(t, r.Master, "CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", "40")
	wantFound(t, e, "warning two-masters "+master, without+master)
	if err := r.Replicas[0].Pause(); err != nil {
		t.Fatal(err)
	}
	wantFound(t, e, "warning two-masters "+master, without+master, "note replica-not-looked-at "+replica)
}

// If the server is gone or hangs, or does not know the user, Examine returns an error that says so.
func TestExamineWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Password: "right"})
	_, err := open(t, func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: s.Addr(), Password: "wrong"}))
	}).Examine(t.Context())
	if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "password") ||
		strings.Contains(err.Error(), "wrong\"") {
		t.Errorf("a wrong password: %v", err)
	}
	e := openURL(t, "redis://:right@"+s.Addr())
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if x, err := e.Examine(ctx); err == nil {
		t.Errorf("a server that hangs: %+v", x)
	}
	s.Kill()
	if x, err := e.Examine(t.Context()); err == nil || driver.IsPermanent(err) {
		t.Errorf("a server that is gone: %+v, %v", x, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Examine(t.Context()); !driver.IsPermanent(err) {
		t.Errorf("an engine that is closed: %v", err)
	}
}

// A Cluster needs other rights.
func TestExamineFindsRightsThatAreMissingInACluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 2, 0, redisserver.Config{Lines: persistentLines})
	all := slices.Concat(smallestRights(t), documentedRights(t, "doctor"))
	check := func(without, each, whole string) {
		t.Helper()
		user := "without-" + without
		var want []string
		for _, n := range c.Nodes {
			trust(t, n)
			addUser(t, n, user, slices.DeleteFunc(slices.Clone(all), func(word string) bool { return word == without }))
			if each != "" {
				want = append(want, each+" "+n.Addr())
			}
		}
		if whole != "" {
			want = append(want, whole)
		}
		wantFound(t, open(t, func(t *testing.T) goredis.UniversalClient {
			return closed(t, goredis.NewClusterClient(&goredis.ClusterOptions{
				Addrs: c.Addrs(), Username: user, Password: userPassword, DisableRoutingPolicies: true, MaxRetries: -1,
				ContextTimeoutEnabled: true}))
		}), want...)
	}
	check("nothing", "", "")
	check("+spublish", "warning rights-messages", "")
	check("+ssubscribe", "warning rights-messages", "")
	check("+sunsubscribe", "note rights-spare", "")
	check("+set", "critical rights", "")
	check("+watch", "critical rights", "")
	check("+cluster|nodes", "", "critical rights")
	check("+cluster|slots", "", "critical rights")
}
