//go:build unix

package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// geheim is the password of all servers that have one.
const geheim = "ge@heim/%?#"

// use sets the engine.
func (m *machine) use(url string) *machine {
	m.env[2] = "LEASEHOLD_ENGINE=" + url
	return m
}

// noEngine unsets the environment variable of the engine.
func (m *machine) noEngine() *machine {
	m.env = slices.DeleteFunc(slices.Clone(m.env), func(set string) bool {
		return strings.HasPrefix(set, "LEASEHOLD_ENGINE=")
	})
	return m
}

// withPassword returns user information for a URL.
func withPassword(user string) string { return url.UserPassword(user, geheim).String() + "@" }

// The servers of tests were started just now, and nobody else uses them.
const unguarded = "guard=off"

// redisForms are all kinds of Redis. Each function starts one and returns its URL.
var redisForms = map[string]func(t *testing.T) string{
	"one server": func(t *testing.T) string {
		return redisserver.ForTest(t, redisserver.Config{}).URL() + "?" + unguarded
	},
	"password": func(t *testing.T) string {
		s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
		return "redis://" + withPassword("") + s.Addr() + "/2?" + unguarded
	},
	"user": func(t *testing.T) string {
		s := redisserver.ForTest(t, redisserver.Config{})
		redisCommand(t, s, "ACL", "SETUSER", "anna", "on", ">"+geheim, "~*", "&*", "+@all")
		redisCommand(t, s, "ACL", "SETUSER", "default", "off")
		return "redis://" + withPassword("anna") + s.Addr() + "?" + unguarded
	},
	"socket": func(t *testing.T) string {
		socket := filepath.Join(t.TempDir(), "redis.sock")
		redisserver.ForTest(t, redisserver.Config{Password: geheim, Lines: []string{"unixsocket " + socket}})
		return "redis+unix://" + withPassword("") + socket + "?" + unguarded
	},
	"sentinels": func(t *testing.T) string {
		r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{Password: geheim})
		s := redisserver.SentinelsForTest(t, 3, r)
		return "redis+sentinel://" + withPassword("") + strings.Join(s.Addrs(),
			",") + "/" + redisserver.MasterName + "?" + unguarded
	},
	"cluster": func(t *testing.T) string {
		c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{Password: geheim})
		return "redis+cluster://" + withPassword("") + strings.Join(c.Addrs(), ",") + "?" + unguarded
	},
	"TLS": func(t *testing.T) string {
		s := startWithTLS(t)
		return s.url + "&" + unguarded
	},
}

func redisCommand(t *testing.T, s *redisserver.Server, args ...string) {
	t.Helper()
	if _, err := s.Command(args...); err != nil {
		t.Fatal(err)
	}
}

// wantNoSecret fails the test if a result shows the password.
func (r result) wantNoSecret(t *testing.T) result {
	t.Helper()
	for _, text := range []string{r.out, r.err} {
		if strings.Contains(text, "heim") || strings.Contains(text, "anna") {
			t.Errorf("output shows user or password: %q", text)
		}
	}
	return r
}

// All kinds of Redis can keep locks, and no command shows the password.
func TestRedisOfEachKind(t *testing.T) {
	t.Parallel()
	for name, start := range redisForms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t).use(start(t))
			do := func(code int, args ...string) result {
				t.Helper()
				return m.do(args...).want(t, code).wantNoSecret(t)
			}
			if r := do(0, "ls", "-o", "json"); r.out != "[]\n" {
				t.Errorf("an empty engine lists %q", r.out)
			}
			do(7, "run", "a", "--", "sh", "-c", "exit 7")
			do(0, "run", "--slots", "2", "a", "--", "true")
			do(0, "check", "a")
			if slices.Contains(allCommandsOn, name) {
				tryAllCommands(t, m, do)
			}
		})
	}
}

// tryAllCommands tries all commands while a lock is held and waited for.
func tryAllCommands(t *testing.T, m *machine, do func(code int, args ...string) result) {
	t.Helper()
	holder := m.hold("--ttl", "20s", "a")
	do(75, "run", "-n", "a", "--", "echo", "must not run")
	do(75, "run", "-w", "5s", "-s", "a", "--", "echo", "must not run")
	do(1, "check", "a")
	next := m.start("run", "a", "--", "sh", "-c", "echo $LEASEHOLD_TOKEN $LEASEHOLD_DEADLINE_UNIX_MS")
	m.until("a waiter", func() bool { return strings.Contains(do(0, "ls", "-o", "json").out, `"waiting":1`) })
	wantNoSecretInCommandLines(t)
	all := decode[[]entry](t, do(0, "ls", "-o", "json"))
	if len(all) != 1 || all[0].Name != "a" || len(all[0].Holders) != 1 || all[0].Holders[0].Token == 0 ||
		*all[0].Holders[0].TTL > 20_000 {
		t.Fatalf("listed: %+v", all)
	}
	if text := do(0, "inspect", "a").out; !strings.Contains(text, "held by") || !strings.Contains(text, "waiting: 1.") {
		t.Errorf("inspect says %q", text)
	}
	if text := do(0, "ls").out; strings.Count(text, "\n") != 2 {
		t.Errorf("ls says %q", text)
	}

	do(0, "release", "--force", "--yes", "a")
	var token uint64
	var deadline int64
	if _, err := fmt.Sscan(next.line(), &token, &deadline); err != nil {
		t.Fatal(err)
	}
	if token <= all[0].Holders[0].Token {
		t.Errorf("token %d follows %d", token, all[0].Holders[0].Token)
	}
	// The program does not run under the short first lease of a hand-over.
	if left := time.Until(time.UnixMilli(deadline)); left < 15*time.Second {
		t.Errorf("the lease of the next one ends in %s", left)
	}
	next.wait().want(t, 0).wantNoSecret(t)
	holder.in.Close()
	holder.wait().want(t, 70).wantNoSecret(t)
	do(1, "release", "--force", "--yes", "a")
	do(0, "check", "a")
}

// wantNoSecretInCommandLines checks all processes of the machine.
func wantNoSecretInCommandLines(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || runtime.GOOS == "linux" && len(files) == 0 {
		t.Fatalf("there are no processes: %v", err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if strings.Contains(string(line), geheim) || strings.Contains(string(line), url.QueryEscape(geheim)) {
			t.Errorf("%s shows the password: %q", file, line)
		}
	}
}

func TestPasswordFromTheEnvironment(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	redisCommand(t, s, "ACL", "SETUSER", "anna", "on", ">"+geheim, "~*", "&*", "+@all")
	redisCommand(t, s, "ACL", "SETUSER", "default", "off")
	m := newMachine(t).use("redis://" + s.Addr() + "?" + unguarded)
	if r := m.do("run", "a", "--", "true").want(t, 69).wantNoSecret(t); !strings.Contains(r.err, "NOAUTH") {
		t.Errorf("without a password: %q", r.err)
	}
	m.env = append(m.env, "LEASEHOLD_REDIS_USER=anna", "LEASEHOLD_REDIS_PASSWORD="+geheim)
	m.do("run", "a", "--", "true").want(t, 0).wantNoSecret(t)
	m.use("redis://anna:wrong-heim@" + s.Addr() + "?" + unguarded) // this one counts
	if r := m.do("run", "a", "--", "true").want(t, 69).wantNoSecret(t); !strings.Contains(r.err, "WRONGPASS") {
		t.Errorf("with a wrong password: %q", r.err)
	}
}

func TestMissingRightsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	redisCommand(t, s, "ACL", "SETUSER", "anna", "on", ">"+geheim, "~other:*", "&*", "+@all")
	m := newMachine(t).use("redis://" + withPassword("anna") + s.Addr() + "?" + unguarded)
	p := m.start("run", "--ttl", "1m", "a", "--", "true") // for so long an unavailable server is tolerated
	p.remaining()
	r := p.wait().want(t, 69).wantNoSecret(t)
	if !strings.Contains(r.err, "NOPERM") && !strings.Contains(r.err, "rights") {
		t.Errorf("stderr %q", r.err)
	}
}

// Another client holds the plain key. The key's value is that client's secret.
func TestForeignHolderIsSeenAndExcludesUs(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	m := newMachine(t).use(s.URL() + "?prefix=jobs:&" + unguarded)
	redisCommand(t, s, "SET", "jobs:a", geheim, "NX", "PX", "60000")
	m.do("run", "-n", "a", "--", "echo", "must not run").want(t, 75).wantNoSecret(t)
	m.do("check", "a").want(t, 1)
	for _, args := range [][]string{{"ls"}, {"ls", "-o", "json"}, {"inspect", "a"}} {
		if r := m.do(args...).want(t, 0).wantNoSecret(t); !strings.Contains(r.out, "another kind") {
			t.Errorf("%v says %q", args, r.out)
		}
	}
	next := m.start("run", "a", "--", "echo", "mine")
	m.until("a waiter", func() bool { return strings.Contains(m.do("ls", "-o", "json").out, `"waiting":1`) })
	redisCommand(t, s, "DEL", "jobs:a")
	if got := next.line(); got != "mine" {
		t.Errorf("the next one said %q", got)
	}
	redisCommand(t, s, "SET", "jobs:b", geheim, "NX") // without an expiry
	m.do("release", "--force", "--yes", "b").want(t, 0).wantNoSecret(t)
	m.do("run", "-n", "b", "--", "true").want(t, 0)
}

func TestManyShellsCountOnRedis(t *testing.T) {
	t.Parallel()
	const shells, each = 8, 6
	m := newMachine(t).use(redisserver.ForTest(t, redisserver.Config{}).URL() + "?" + unguarded)
	file := filepath.Join(m.home, "f")
	if err := os.WriteFile(file, []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range shells {
		all.Go(func() {
			for done := 0; done < each; {
				switch r := m.do("run", "counter", "--", "sh", "-c", `read n < f; echo $((n+1)) > f`); {
				case r.code == 0:
					done++
				case r.code != 69: // it has not run: the busiest machine answers too late
					t.Errorf("exit code %d, stderr %q", r.code, r.err)
					return
				}
			}
		})
	}
	all.Wait()
	if got, err := os.ReadFile(file); err != nil || string(got) != fmt.Sprintln(shells*each) {
		t.Fatalf("counted %q, want %d (%v)", got, shells*each, err)
	}
}

// leasehold open opens a server that has no record of earlier use, and records who did it and why.
func TestOpen(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	m := newMachine(t).use(s.URL())
	if r := m.do("run", "-n", "a", "--", "echo", "must not run").want(t, 69); r.out != "" ||
		!strings.Contains(r.err, "`leasehold open` opens it at once") {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	m.do("open").want(t, 64)
	if r := m.do("open", "--yes", "--why", "a new server").want(t, 0); r.out != "open: "+s.Addr()+"\n" {
		t.Errorf("stdout %q", r.out)
	}
	m.do("run", "-n", "a", "--", "true").want(t, 0)
	if marker, err := s.Command("GET", "{lock:}:guard"); err != nil ||
		!strings.HasSuffix(fmt.Sprint(marker), ": a new server") {
		t.Errorf("the marker is %q, %v; want who has opened it, and why", marker, err)
	}
	m.use(s.URL()+"?guard=off").do("open", "--yes").want(t, 1)
	m.use("memory:").do("open", "--yes").want(t, 1)
	s.Kill()
	m.use(s.URL()).do("open", "--yes").want(t, 69)
}

// A server that has no record of earlier use may stand in for one that has granted leases.
func TestNewServerIsGuarded(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	m := newMachine(t).use(s.URL() + "?max_ttl=4s")
	if r := m.do("run", "-n", "--ttl", "4s", "a", "--", "echo", "must not run").want(t, 69); r.out != "" ||
		!strings.Contains(r.err, "this server has no record of earlier use") {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	if r := m.do("run", "--ttl", "5s", "a", "--", "true").want(t, 64); !strings.Contains(r.err, "4s") {
		t.Errorf("a ttl above max_ttl: %q", r.err)
	}
	m.do("run", "--ttl", "4s", "-w", "30s", "a", "--", "true").want(t, 0)
	if r := m.do("run", "-n", "a", "--", "sh", "-c", "echo $LEASEHOLD_TTL_MS").want(t, 0); r.out != "4000\n" {
		t.Errorf("the default ttl, where leases last for 4s at most: %q", r.out)
	}
}
