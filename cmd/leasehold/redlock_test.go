//go:build unix

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// The command on three servers, one of which is frozen.
func TestAMajorityOfServers(t *testing.T) {
	t.Parallel()
	var addresses []string
	var servers []*redisserver.Server
	for range 3 {
		s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
		servers, addresses = append(servers, s), append(addresses, s.Addr())
	}
	at := "redlock://" + withPassword("") + strings.Join(addresses, ",")
	m := newMachine(t).use(at + "?node_timeout=5s&" + unguarded)
	do := func(code int, args ...string) result {
		t.Helper()
		return m.do(args...).want(t, code).wantNoSecret(t)
	}
	do(7, "run", "a", "--", "sh", "-c", "exit 7")
	if err := servers[2].Pause(); err != nil {
		t.Fatal(err)
	}
	m.use(at + "?node_timeout=3s&" + unguarded)
	holder := m.hold("--ttl", "20s", "a")
	do(75, "run", "-n", "a", "--", "echo", "must not run")
	do(1, "check", "a")
	next := m.start("run", "a", "--", "echo", "it was my turn")
	m.until("a waiter", func() bool { return strings.Contains(do(0, "ls", "-o", "json").out, `"waiting":1`) })
	wantNoSecretInCommandLines(t)
	all := decode[[]entry](t, do(0, "ls", "-o", "json"))
	if len(all) != 1 || all[0].Name != "a" || len(all[0].Holders) != 1 || all[0].Holders[0].Token == 0 {
		t.Fatalf("listed: %+v", all)
	}
	do(0, "release", "--force", "--yes", "a")
	if line := next.line(); !strings.Contains(line, "my turn") {
		t.Errorf("the next one says %q", line)
	}
	next.wait().want(t, 0).wantNoSecret(t)
	holder.in.Close()
	holder.wait().want(t, 70).wantNoSecret(t)

	do(64, "run", "--slots", "2", "a", "--", "true")
	do(64, "run", "-s", "a", "--", "true")
	if err := servers[1].Pause(); err != nil {
		t.Fatal(err)
	}
	if r := do(69, "run", "-n", "a", "--", "true"); !strings.Contains(r.err, "not granted by 2 of 3 nodes") ||
		!strings.Contains(r.err, servers[1].Addr()+" no answer") {
		t.Errorf("without a majority: %q", r.err)
	}
}

func TestServersOfAMajorityThatAreRefused(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
	m := newMachine(t)
	for query, code := range map[string]int{"?node_timeout=never": 64, "?node_timeout=1s&node_timeout=2s": 64,
		"?min_validity=-1s": 64, "?colour=red": 64} {
		m.use("redlock://"+withPassword("")+s.Addr()+query).do("ls").want(t, code).wantNoSecret(t)
	}
	r := m.use("redlock://"+withPassword("")+s.Addr()+","+s.Addr()).do("ls").want(t, 69).wantNoSecret(t)
	if !strings.Contains(r.err, "same server") {
		t.Errorf("one server twice: %q", r.err)
	}
}

// A program with another list of servers is refused until that list is made the current one. Then the programs with the
// old list are refused.
func TestOpenChangesNodes(t *testing.T) {
	t.Parallel()
	var at []string
	for range 4 {
		at = append(at, redisserver.ForTest(t, redisserver.Config{}).Addr())
	}
	list := func(servers ...string) string {
		return "redlock://" + strings.Join(servers, ",") + "?max_ttl=1s&node_timeout=5s"
	}
	old, changed := list(at[:3]...), list(at...)
	m := newMachine(t).use(old)
	m.do("open", "--yes").want(t, 0)
	m.do("run", "--ttl", "1s", "a", "--", "true").want(t, 0)
	if r := m.use(changed).do("run", "--ttl", "1s", "a", "--", "true").want(t, 69); !strings.Contains(r.err,
		"`leasehold open --change-nodes`") {
		t.Errorf("stderr %q", r.err)
	}
	m.do("open", "--change-nodes").want(t, 64)
	if r := m.do("open", "--change-nodes", "--yes").want(t, 0); !strings.HasPrefix(r.out,
		"changed: locks are granted again at ") {
		t.Errorf("stdout %q", r.out)
	}
	m.do("run", "--ttl", "1s", "a", "--", "true").want(t, 0)
	m.use(old).do("run", "--ttl", "1s", "a", "--", "true").want(t, 69)
	m.use("memory:").do("open", "--change-nodes", "--yes").want(t, 1)
}

// fiveServers starts the servers of a quorum.
func fiveServers(t *testing.T) (servers []*redisserver.Server, addresses string) {
	t.Helper()
	var all []string
	for range 5 {
		s := redisserver.ForTest(t, redisserver.Config{})
		servers, all = append(servers, s), append(all, s.Addr())
	}
	return servers, strings.Join(all, ",")
}

// A run takes at most 300 ms longer while one of five servers is frozen from the start. Of several runs the fastest one
// counts, which a busy machine slows down least.
func TestAFrozenServerCostsNoTime(t *testing.T) {
	t.Parallel()
	const extra, attempts = 300 * time.Millisecond, 20
	servers, addresses := fiveServers(t)
	m := newMachine(t).use("redlock://" + addresses + "?" + unguarded)
	tries := 0
	run := func() time.Duration {
		for n := 1; ; n++ {
			tries++
			began := time.Now()
			r := m.start("run", "a", "--", "true").wait()
			took := time.Since(began)
			// Servers count as silent after half a second, which a busy machine may take for an answer.
			if r.code != 69 || n == attempts {
				r.want(t, 0)
				return took
			}
		}
	}
	healthy := min(run(), run(), run())
	if err := servers[1].Pause(); err != nil {
		t.Fatal(err)
	}
	fastest := run()
	for n := 1; n < attempts && fastest > healthy+extra; n++ {
		fastest = min(fastest, run())
	}
	t.Logf("a run took %v, and %v with a frozen server, of %d runs", healthy, fastest, tries)
	if fastest > healthy+extra {
		t.Errorf("a run took %v, and the fastest of %d with a frozen server %v", healthy, attempts, fastest)
	}
}

// A run succeeds without a message while one of five servers is frozen from the start: a majority suffices to open the
// engine, to take and release the lock, and to close.
func TestAFrozenServerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	servers, addresses := fiveServers(t)
	if err := servers[1].Pause(); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t).use("redlock://" + addresses + "?node_timeout=5s&" + unguarded)
	for _, args := range [][]string{{"run", "a", "--", "echo", "ran"}, {"run", "-n", "a", "--", "echo", "ran"}} {
		p := m.start(args...)
		if got := p.line(); got != "ran" {
			t.Errorf("%v: the program said %q", args, got)
		}
		p.remaining()
		if r := p.wait().want(t, 0); r.err != "" { // it would say that a release was not confirmed
			t.Errorf("%v: stderr %q", args, r.err)
		}
	}
}
