//go:build unix

package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// atMost is how long a command may take on a server that does not answer: one request of 5 s, as many for cleaning up,
// and the delay of the busiest machine.
const atMost = time.Minute

func TestServerThatIsNotThereEndsTheCommand(t *testing.T) {
	t.Parallel()
	gone := redisserver.ForTest(t, redisserver.Config{Password: geheim})
	gone.Kill()
	frozen := redisserver.ForTest(t, redisserver.Config{Password: geheim})
	if err := frozen.Pause(); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts its connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	user := withPassword("anna")
	// All of them are started before the first one is waited for, since most of them only wait.
	var begun []func()
	for name, url := range map[string]string{
		"gone":           "redis://" + user + gone.Addr(),
		"gone, TLS":      "rediss://" + user + gone.Addr(),
		"frozen":         "redis://" + user + frozen.Addr(),
		"silent":         "redis://" + user + silent.Addr().String(),
		"silent, TLS":    "rediss://" + user + silent.Addr().String(),
		"no such socket": "redis+unix://" + user + "/nosuch/redis.sock",
		"no sentinel":    "redis+sentinel://" + user + gone.Addr() + "," + silent.Addr().String() + "/main",
		"no node":        "redis+cluster://" + user + gone.Addr() + "," + silent.Addr().String(),
		"a server for a sentinel": "redis+sentinel://" + redisserver.ForTest(t,
			redisserver.Config{}).Addr() + "/main",
		"a server for a cluster": "redis+cluster://" + redisserver.ForTest(t, redisserver.Config{}).Addr(),
		"a node for a single server": redisserver.ClusterForTest(t, 3, 0,
			redisserver.Config{}).Nodes[0].URL() + "?db=1",
	} {
		m := newMachine(t).use(url)
		for _, args := range [][]string{
			{"run", "a", "--", "echo", "must not run"}, {"run", "-n", "a", "--", "echo", "must not run"}, {"ls"},
			{"run", "-w", "100ms", "--skip-ok", "a", "--", "echo", "must not run"}, // this must not pass for "held"
		} {
			p := m.start(args...)
			began := time.Now()
			begun = append(begun, func() {
				out, r := p.remaining(), p.wait().wantNoSecret(t)
				if took := time.Since(began); took > atMost {
					t.Errorf("%s: %v took %s", name, args, took)
				}
				if r.code != 69 || len(out) != 0 || strings.Count(r.err, "\n") != 1 {
					t.Errorf("%s: %v: exit code %d, stdout %q, stderr %q", name, args, r.code, out, r.err)
				}
			})
		}
	}
	for _, end := range begun {
		end()
	}
}

// The command must have ended when others can have the lock, whatever happens to the server.
func TestServerThatGoesAwayEndsTheGroupBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	for how, trouble := range map[string]func(*redisserver.Server) error{
		"killed": func(s *redisserver.Server) error { s.Kill(); return nil },
		"frozen": (*redisserver.Server).Pause,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			const ttl = 9 * time.Second
			s := redisserver.ForTest(t, redisserver.Config{})
			pace := keepPace(t)
			m := newMachine(t).use(s.URL() + "?" + unguarded)
			fifo := filepath.Join(m.home, "alive") // open as long as a process of the group lives
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			p := m.start("run", "--ttl", ttl.String(), "a", "--", "sh", "-c", "exec 9>alive; "+stubborn)
			alive, err := os.Open(fifo)
			if err != nil {
				t.Fatal(err)
			}
			defer alive.Close()
			group, _ := readStart(t, p)

			if err := trouble(s); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if _, err := io.ReadAll(alive); err != nil {
				t.Fatal(err)
			}
			pace.wantBefore(t, began.Add(ttl))
			if r := p.wait().want(t, 70); !strings.Contains(r.err, "runs out") {
				t.Errorf("stderr %q", r.err)
			}
			if took := time.Since(began); took > atMost {
				t.Errorf("the end took %s", took)
			}
			wantNoGroup(t, group)
		})
	}
}

// A server that stores nothing comes back without the lock. The holder is told, and does not go on.
func TestServerThatForgetsTheLockEndsTheGroup(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	pace := keepPace(t)
	m := newMachine(t).use(s.URL() + "?" + unguarded)
	p := m.start("run", "--ttl", "6s", soon[0], soon[1], "a", "--", "sh", "-c", stubborn)
	group, deadline := readStart(t, p)
	s.Kill()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	r := p.wait().want(t, 70)
	pace.wantBefore(t, deadline)
	wantNoGroup(t, group)
	if !strings.Contains(r.err, `"a" is lost`) {
		t.Errorf("stderr %q", r.err)
	}
}

func TestWaitersRideOutARestart(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}})
	m := newMachine(t).use(s.URL() + "?" + unguarded)
	redisCommand(t, s, "SET", "lock:a", "somebody else", "PX", "120000")
	p := m.start("run", "a", "--", "echo", "mine")
	m.until("a waiter", func() bool { return strings.Contains(m.do("ls", "-o", "json").out, `"waiting":1`) })
	s.Kill()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	redisCommand(t, s, "DEL", "lock:a")
	if got := p.line(); got != "mine" {
		t.Errorf("the waiter said %q", got)
	}
	p.wait().want(t, 0)
}

// The exit code is that of the program: its lease was valid until it ended.
func TestReleaseThatNobodyConfirmsIsSaid(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	m := newMachine(t).use(s.URL() + "?" + unguarded)
	p := m.hold("a")
	s.Kill()
	began := time.Now()
	p.in.Close()
	r := p.wait().want(t, 1) // that of the shell, whose input has ended
	if took := time.Since(began); took > atMost {
		t.Errorf("the end took %s", took)
	}
	if !strings.Contains(r.err, "not confirmed") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("stderr %q", r.err)
	}
}
