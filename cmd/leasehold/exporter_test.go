//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// exporterProcess is a running exporter and its address.
type exporterProcess struct {
	*process
	m   *machine
	url string
}

var serves = regexp.MustCompile(`serves (http://\S+)/metrics`)

// export starts an exporter on a free port.
func (m *machine) export(args ...string) *exporterProcess {
	m.t.Helper()
	p := m.start(append([]string{"exporter", "--listen", "127.0.0.1:0", "--interval", "1s"}, args...)...)
	s := &exporterProcess{process: p, m: m}
	m.until("the exporter", func() bool {
		if found := serves.FindStringSubmatch(s.stderr()); found != nil {
			s.url = found[1]
		}
		return s.url != ""
	})
	m.t.Cleanup(func() {
		if m.t.Failed() {
			m.t.Logf("the exporter said:\n%s", s.stderr())
		}
	})
	return s
}

// stderr returns what it has printed so far.
func (s *exporterProcess) stderr() string {
	s.t.Helper()
	text, err := os.ReadFile(s.errs)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// get returns one page.
func (s *exporterProcess) get(path string) string {
	s.t.Helper()
	client := http.Client{Timeout: testTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: status %d, %v: %s", path, r.StatusCode, err, text)
	}
	return string(text)
}

// hasMetrics reports whether the metrics have all these lines.
func (s *exporterProcess) hasMetrics(lines ...string) bool {
	text := "\n" + s.get("/metrics")
	for _, l := range lines {
		if !strings.Contains(text, "\n"+l+"\n") {
			return false
		}
	}
	return true
}

// awaitMetrics waits until the metrics have all these lines.
func (s *exporterProcess) awaitMetrics(lines ...string) {
	s.t.Helper()
	s.m.until(fmt.Sprint(lines), func() bool { return s.hasMetrics(lines...) })
}

// end sends a signal, and expects that the exporter ends at once and has never shown a password.
func (s *exporterProcess) end(sig syscall.Signal) {
	s.t.Helper()
	pages := result{out: s.get("/metrics") + s.get("/")}
	began := time.Now()
	s.signal(sig)
	r := s.wait().want(s.t, 0)
	if took := time.Since(began); took > atMost {
		s.t.Errorf("the end took %s", took)
	}
	pages.err = r.err
	pages.wantNoSecret(s.t)
}

func TestExporterOnRedis(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{Password: geheim})
	m := newMachine(t).use("redis://" + withPassword("") + server.Addr() + "?" + unguarded)
	m.hold("--ttl", "20s", "a")
	m.hold("-s", "b")
	m.hold("-s", "b")
	m.hold("--slots", "2", "c")
	m.hold("--label", "cron jobs", "d")
	m.start("run", "a", "--", "true")
	s := m.export()
	s.awaitMetrics("leasehold_up 1",
		`leasehold_locks_held{kind="lock",resource="default"} 3`,
		`leasehold_locks_held{kind="lock",resource="cron jobs"} 1`,
		`leasehold_locks_held{kind="semaphore",resource="default"} 1`,
		`leasehold_waiters{kind="lock"} 1`,
		`leasehold_leaks{sort="endless_lease"} 0`,
		fmt.Sprintf(`leasehold_node_up{node="%s"} 1`, server.Addr()),
	)
	redisCommand(t, server, "SET", "lock:leaked", "of another program")
	s.awaitMetrics(`leasehold_leaks{sort="endless_lease"} 1`)
	wantMetricsThatPromtoolLikes(t, s.get("/metrics"))
	wantNoSecretInCommandLines(t)

	// Nothing old is reported about a server that is gone.
	server.Kill()
	s.awaitMetrics("leasehold_up 0")
	s.m.until("an end of the old numbers", func() bool {
		return !strings.Contains(s.get("/metrics"), "leasehold_locks_held{")
	})
	if text := s.get("/healthz"); text != "ok\n" {
		t.Errorf("the exporter itself says of its health: %q", text)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	s.awaitMetrics("leasehold_up 1")
	s.end(syscall.SIGTERM)
	// It prints a line when polls begin to fail and when they work again, not each time.
	lines := strings.Split(strings.TrimSpace(s.stderr()), "\n")
	for i, l := range lines[1:] {
		if fails := strings.Contains(l, "polling the engine fails"); fails != (i%2 == 0) {
			t.Errorf("it said %q", lines)
		}
	}
	// The server may have been killed during a poll.
	reasons := regexp.MustCompile("connection refused|EOF|reset by peer|broken pipe|takes longer than")
	if len(lines) < 3 || !reasons.MatchString(s.stderr()) {
		t.Errorf("it said %q, want why the look failed", lines)
	}
}

func TestExporterOnAMajority(t *testing.T) {
	t.Parallel()
	var addresses []string
	var servers []*redisserver.Server
	for range 3 {
		s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
		servers, addresses = append(servers, s), append(addresses, s.Addr())
	}
	all := strings.Join(addresses, ",")
	m := newMachine(t).use("redlock://" + withPassword("") + all + "?node_timeout=10s&" + unguarded)
	m.hold("a")
	s := m.export()
	up := func(values ...int) (lines []string) {
		for i, v := range values {
			lines = append(lines, fmt.Sprintf(`leasehold_node_up{node="%s"} %d`, addresses[i], v))
		}
		return lines
	}
	s.awaitMetrics(append(up(1, 1, 1), "leasehold_up 1", `leasehold_locks_held{kind="lock",resource="default"} 1`)...)
	servers[2].Kill()
	s.awaitMetrics(append(up(1, 1, 0), "leasehold_up 1", `leasehold_locks_held{kind="lock",resource="default"} 1`)...)
	wantMetricsThatPromtoolLikes(t, s.get("/metrics"))
	// Without a majority nobody knows what is held. The state of the nodes is known all the same.
	servers[1].Kill()
	s.awaitMetrics(append(up(1, 0, 0), "leasehold_up 0")...)
	if strings.Contains(s.get("/metrics"), "leasehold_locks_held{") {
		t.Error("it reports what is held, which nobody knows")
	}
	s.end(syscall.SIGINT)
}

// Servers that must not vote make locking impossible. The exporter reports why.
func TestExporterOnAServerThatIsNamedTwice(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{Password: geheim})
	other := redisserver.ForTest(t, redisserver.Config{Password: geheim})
	_, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join([]string{server.Addr(), "localhost:" + port, other.Addr()}, ",")
	m := newMachine(t).use("redlock://" + withPassword("") + all + "?" + unguarded)
	s := m.export()
	s.awaitMetrics(`leasehold_findings{code="same-server-twice",severity="critical"} 1`)
	s.end(syscall.SIGTERM)
}

func TestExporterOnAFile(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.hold("jobs:a")
	m.hold("other")
	s := m.export("--prefix", "jobs:", "--timeout", "900ms")
	s.awaitMetrics("leasehold_up 1", `leasehold_locks_held{kind="lock",resource="default"} 1`)
	wantMetricsThatPromtoolLikes(t, s.get("/metrics"))
	s.end(syscall.SIGTERM)
}

// A server that is down when the exporter starts may come up later.
func TestExporterStartsWithoutItsServer(t *testing.T) {
	t.Parallel()
	for scheme, c := range map[string]struct {
		servers int
		setting string
	}{"redis": {1, unguarded}, "redlock": {3, unguarded}, "redisson": {1, "lock=fair"}} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			var addresses []string
			var servers []*redisserver.Server
			for range c.servers {
				s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
				s.Kill()
				servers, addresses = append(servers, s), append(addresses, s.Addr())
			}
			m := newMachine(t).use(scheme + "://" + withPassword("") + strings.Join(addresses, ",") + "?" + c.setting)
			s := m.export()
			m.until("the failure", func() bool { return strings.Contains(s.stderr(), "fails") })
			s.awaitMetrics("leasehold_up 0")
			for _, server := range servers {
				if err := server.Restart(); err != nil {
					t.Fatal(err)
				}
			}
			s.awaitMetrics("leasehold_up 1", `leasehold_waiters{kind="lock"} 0`)
			s.end(syscall.SIGTERM)
		})
	}
}

func TestExporterRefuses(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { busy.Close() })
	m := newMachine(t)
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{69, "another program has this port", []string{"--listen", busy.Addr().String()}},
		{64, "HOST:PORT", []string{"--listen", "nowhere"}},
		{64, "HOST:PORT", []string{"--listen", "127.0.0.1:70000"}},
		{64, "HOST:PORT", []string{"--listen", "127.0.0.1:"}},
		{64, "address of this machine", []string{"--listen", "192.0.2.1:0"}},
		{64, "address of this machine", []string{"--listen", "no.such.host.invalid:0"}},
		{64, "1s to 1h", []string{"--interval", "999ms"}},
		{64, "1s to 1h", []string{"--interval", "61m"}},
		{64, "100ms to the interval, 2s", []string{"--interval", "2s", "--timeout", "3s"}},
		{64, "100ms to the interval", []string{"--timeout", "0"}},
		{64, "not expected", []string{"word"}},
		{64, "scheme", []string{"--engine", "nosuch://h"}},
	} {
		r := m.do(append([]string{"exporter"}, c.args...)...).want(t, c.code)
		if !strings.Contains(r.err, c.says) || strings.Count(r.err, "\n") != 1 || r.out != "" {
			t.Errorf("%v: stdout %q, stderr %q, want %q in one line", c.args, r.out, r.err, c.says)
		}
	}
}

// The command knows all flags in the systemd unit.
func TestTheExportersUnit(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../../deploy/leasehold-exporter.service")
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^ExecStart=\S*/leasehold (.*)$`).FindSubmatch(unit)
	if start == nil {
		t.Fatal("the unit starts nothing")
	}
	newMachine(t).do(append(strings.Fields(string(start[1])), "--help")...).want(t, 0)
}

// wantMetricsThatPromtoolLikes checks names, types and texts with Prometheus' own tool.
func wantMetricsThatPromtoolLikes(t *testing.T, page string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		if needed.Servers() {
			t.Fatalf("promtool is missing: install the package prometheus: %v", err)
		}
		t.Log("not checked by promtool, which is missing: install the package prometheus")
		return
	}
	c := exec.Command(path, "check", "metrics")
	c.Stdin = strings.NewReader(page)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil || said.Len() != 0 {
		t.Errorf("promtool: %v: %s\n%s", err, &said, page)
	}
}
