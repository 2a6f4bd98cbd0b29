//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// diagnosis is the JSON form.
type diagnosis struct {
	Servers []struct {
		Server, Role, Version string
		Votes                 *bool
		Uptime                *int64   `json:"uptime_ms"`
		RoundTrip             *float64 `json:"round_trip_ms"`
		Ahead                 *float64 `json:"ahead_ms"`
		Quarantine            int64    `json:"quarantine_ms"`
		Error                 string
	}
	Findings []struct{ Severity, Code, Server, Text, Fix string }
}

// doctor runs the command in both forms, and returns the findings as "severity code server".
func (m *machine) doctor(code int, flags ...string) (d diagnosis, found []string) {
	m.t.Helper()
	r := m.do(append([]string{"doctor", "-o", "json"}, flags...)...).want(m.t, code).wantNoSecret(m.t)
	if r.err != "" {
		m.t.Errorf("stderr %q", r.err)
	}
	d = decode[diagnosis](m.t, r)
	table := m.do(append([]string{"doctor"}, flags...)...).want(m.t, code).wantNoSecret(m.t).out
	if strings.Contains(table, "\x1b") {
		m.t.Errorf("colours, and no terminal: %q", table)
	}
	for _, p := range d.Servers {
		if !strings.Contains(table, p.Server) || p.Votes == nil {
			m.t.Errorf("%s is not in the table:\n%s", p.Server, table)
		}
	}
	for _, f := range d.Findings {
		found = append(found, strings.TrimSpace(f.Severity+" "+f.Code+" "+f.Server))
		if !strings.Contains(table, f.Severity+"  "+f.Code) || f.Text == "" || f.Fix == "" {
			m.t.Errorf("%+v is not in the table:\n%s", f, table)
		}
	}
	for line := range strings.Lines(table) {
		if len([]rune(line)) > 101 && !strings.Contains(line, "127.0.0.1") {
			m.t.Errorf("a line of %d letters: %q", len(line), line)
		}
	}
	return d, found
}

func (m *machine) wantFound(code int, want ...string) diagnosis {
	m.t.Helper()
	d, found := m.doctor(code)
	slices.Sort(found)
	if slices.Sort(want); !slices.Equal(found, want) {
		m.t.Errorf("found\n  %s\nwant\n  %s", strings.Join(found, "\n  "), strings.Join(want, "\n  "))
	}
	return d
}

var everything = []string{"appendonly yes", "appendfsync always"}

// open waits until servers that were just started grant leases of at most a second.
func (m *machine) open() {
	m.t.Helper()
	m.do("open", "--yes").want(m.t, 0)
	m.until("all servers grant leases", func() bool {
		return m.do("run", "-n", "--ttl", "500ms", "a", "--", "true").code == 0
	})
	m.until("all servers grant leases", func() bool {
		return !slices.ContainsFunc(decode[diagnosis](m.t, m.do("doctor", "-o", "json")).Findings,
			func(f struct{ Severity, Code, Server, Text, Fix string }) bool {
				return f.Code == "grants-closed"
			})
	})
}

const short = "max_ttl=1s" // so that a server that was just started is soon trusted

// Several faults are made one after the other. Doctor finds each, and its exit code is that of the worst.
func TestDoctorOnOneServer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Password: geheim, Lines: everything})
	m := newMachine(t).use("redis://" + withPassword("") + s.Addr() + "?" + short)
	m.open()
	d := m.wantFound(0)
	p := d.Servers[0]
	if len(d.Servers) != 1 || p.Server != s.Addr() || p.Role != "master" || !*p.Votes || p.Version == "" ||
		p.Uptime == nil || p.RoundTrip == nil || *p.RoundTrip <= 0 || p.Ahead == nil || p.Error != "" {
		t.Errorf("the server is %+v", p)
	}
	if d.Findings == nil || !strings.Contains(m.do("doctor").out, "0 critical, 0 warnings, 0 notes") {
		t.Error("without findings there is no empty list, or no summary")
	}
	redisCommand(t, s, "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "volatile-lru")
	m.wantFound(2, "critical eviction-policy "+s.Addr())
	redisCommand(t, s, "CONFIG", "SET", "maxmemory-policy", "noeviction", "appendonly", "no")
	m.wantFound(0, "note persistence-off "+s.Addr())
	redisCommand(t, s, "CONFIG", "SET", "appendonly", "yes")
	m.until("the log is there", func() bool { return m.do("doctor").code == 0 })

	redisCommand(t, s, "ACL", "SETUSER", "anna", "on", ">"+geheim, "~*", "&*", "+@all", "-evalsha", "-publish")
	m.use("redis://"+withPassword("anna")+s.Addr()+"?"+short).wantFound(2, "critical rights "+s.Addr(),
		"warning rights-messages "+s.Addr())
	redisCommand(t, s, "ACL", "SETUSER", "anna", "+evalsha")
	m.wantFound(1, "warning rights-messages "+s.Addr())

	m.use("redis://" + withPassword("") + s.Addr()) // by default, a restarted server grants nothing for a minute
	s.Kill()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if d := m.wantFound(2, "critical grants-closed "+s.Addr()); d.Servers[0].Quarantine <= 0 {
		t.Errorf("the server is %+v", d.Servers[0])
	}
	m.use("redis://"+withPassword("")+s.Addr()+"?"+unguarded).wantFound(0, "note guard-off")

	m.use("redis://:wrong@" + s.Addr())
	if r := m.do("doctor").want(t, 69); strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, "password") ||
		r.out != "" {
		t.Errorf("a wrong password: %q, %q", r.err, r.out)
	}
	s.Kill()
	if r := m.do("doctor").want(t, 69); strings.Count(r.err, "\n") != 1 ||
		!strings.Contains(r.err, "connection refused") || r.out != "" {
		t.Errorf("no server: %q, %q", r.err, r.out)
	}
}

func TestDoctorOnAMajority(t *testing.T) {
	t.Parallel()
	var servers []*redisserver.Server
	var at []string
	for range 5 {
		s := redisserver.ForTest(t, redisserver.Config{Password: geheim, Lines: everything})
		servers, at = append(servers, s), append(at, s.Addr())
	}
	const settings = "?node_timeout=3s&" + short
	url := func(at ...string) string { return "redlock://" + withPassword("") + strings.Join(at, ",") + settings }
	m := newMachine(t).use(url(at...))
	m.open()
	if d := m.wantFound(0); len(d.Servers) != 5 {
		t.Errorf("the servers are %+v", d.Servers)
	}
	replica := redisserver.ReplicaForTest(t, servers[4], redisserver.Config{Lines: everything})
	m.use(url(append(slices.Clone(at[:4]), replica.Addr())...)).wantFound(2, "critical replica-as-node "+replica.Addr())
	localhost := strings.Replace(at[0], "127.0.0.1", "localhost", 1)
	m.use(url(append(slices.Clone(at[:4]), localhost)...)).wantFound(2, "critical same-server-twice "+localhost)
	replica.Kill()

	m.use(url(at...))
	for _, s := range servers[:2] {
		s.Kill()
	}
	m.wantFound(1, "warning server-error "+at[0], "warning server-error "+at[1])
	if err := servers[2].Pause(); err != nil {
		t.Fatal(err)
	}
	m.wantFound(2, "critical server-error "+at[0], "critical server-error "+at[1], "critical server-silent "+at[2],
		"critical no-majority")
	if r := m.do("doctor"); strings.Count(r.out, "no answer") != 1 || strings.Count(r.out, "  error\n") != 2 {
		t.Errorf("the table is\n%s", r.out)
	}
}

func TestDoctorBehindSentinels(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{Password: geheim, Lines: everything})
	s := redisserver.SentinelsForTest(t, 1, r)
	m := newMachine(t).use("redis+sentinel://" + withPassword("") + s.Addrs()[0] + "/" + redisserver.MasterName + "?" +
		short)
	m.open()
	note := "note replicas-without-wait " + r.Master.Addr()
	m.wantFound(1, note, "warning min-replicas "+r.Master.Addr())
	redisCommand(t, r.Master, "CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", "10")
	m.wantFound(1, note, "warning two-masters "+r.Master.Addr()) // for as long as this test takes
	// The server has no record of use for that long.
	long := strings.Replace(m.env[2], short, "max_ttl=40s&prefix=other:", 1)
	m.env[2] = long
	if d := m.wantFound(2, note, "critical grants-closed "+r.Master.Addr()); len(d.Servers) != 2 ||
		*d.Servers[1].Votes || d.Servers[1].RoundTrip == nil {
		t.Errorf("the servers are %+v", d.Servers)
	}
}

func TestDoctorOnACluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{Password: geheim, Lines: everything})
	m := newMachine(t).use("redis+cluster://" + withPassword("") + strings.Join(c.Addrs(), ",") + "?" + short)
	m.open()
	if d := m.wantFound(0); len(d.Servers) != 3 {
		t.Errorf("the servers are %+v", d.Servers)
	}
	if err := c.Nodes[0].Pause(); err != nil {
		t.Fatal(err)
	}
	m.wantFound(2, "critical server-silent "+c.Nodes[0].Addr())
}

func TestDoctorElsewhere(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if d := m.wantFound(0); len(d.Servers) != 1 || d.Servers[0].Server != m.db || d.Servers[0].RoundTrip == nil ||
		d.Servers[0].Ahead != nil {
		t.Errorf("the servers are %+v", d.Servers)
	}
	m.use("memory:")
	if r := m.do("doctor").want(t, 0); !strings.Contains(r.out, "nothing to examine") {
		t.Errorf("memory: %q", r.out)
	}
	if r := m.do("doctor", "-o", "json").want(t, 0); r.out != `{"servers":[],"findings":[]}`+"\n" {
		t.Errorf("memory: %q", r.out)
	}
	for _, flags := range []string{"--ttl 1ms", "--ttl never", "-o xml", "a", "--fix"} {
		if r := m.do(append([]string{"doctor"}, strings.Fields(flags)...)...).want(t, 64); r.out != "" {
			t.Errorf("%s: %q", flags, r.out)
		}
	}
	m.use("redlock://127.0.0.1:1?max_ttl=never").do("doctor").want(t, 64)
	m.use("sqlite:"+m.home+"/no/such/folder/locks.db").do("doctor").want(t, 69)
}

func TestDoctorHasColoursOnATerminal(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	m := newMachine(t).use(s.URL() + "?" + unguarded)
	on := m.on(exec.Command("sh", "-c", fmt.Sprintf("TERM=xterm %s doctor; echo ended $?", binary)))
	on.see("\x1b[33mwarning\x1b[0m  guard-off")
	on.see("ended 1")
}

// The documentation has every code in the sources, and no other.
func TestDoctorIsDocumented(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	inSource := map[string]bool{}
	for _, pattern := range []string{"internal/cli/doctor*.go", "../../admin/*.go",
		"../../internal/exposure/*.go", "../../redis/internal/health/*.go", "../../redis/examine*.go",
		"../../redis/redlock/examine*.go", "../../redis/redisson/examine*.go",
		"../../sqlite/examine*.go", "../../postgres/examine*.go", "../../etcd/examine*.go",
		"../../zookeeper/examine*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, found := range regexp.MustCompile(
				`(?:\.?(?:[aA]dd|find)\((?:[\w.]+, )?|Code: )"([a-z-]+)"`).FindAllStringSubmatch(read(file), -1) {
				inSource[found[1]] = true
			}
		}
	}
	documented := map[string]bool{}
	for line := range strings.Lines(read("../../docs/doctor.md")) {
		first, _, table := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if table && strings.HasPrefix(line, "| `") {
			for _, code := range regexp.MustCompile("`([a-z]+(?:-[a-z]+)+|[a-z]+)`").FindAllStringSubmatch(first, -1) {
				documented[code[1]] = true
			}
		}
	}
	for _, severity := range []string{"critical", "warning", "note"} {
		delete(documented, severity)
	}
	for code := range inSource {
		if !documented[code] {
			t.Errorf("docs/doctor.md does not have %s", code)
		}
	}
	for code := range documented {
		if !inSource[code] {
			t.Errorf("docs/doctor.md has %s, which nothing finds", code)
		}
	}
	if len(inSource) < 30 {
		t.Errorf("only %d codes were found: %v", len(inSource), inSource)
	}
}
