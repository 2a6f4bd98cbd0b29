//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// startPatient starts a command that waits for its engine for longer than any test, so that only a signal ends it.
func (m *machine) startPatient(args ...string) *process {
	m.t.Helper()
	return m.startHelper("patient", args)
}

// startHelper starts this test binary as one of the helpers.
func (m *machine) startHelper(name string, args []string) *process {
	m.t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env, c.Dir = append(m.env, "LEASEHOLD_TEST_HELPER="+name), m.home
	return m.begin(c)
}

// endedBy reports whether a signal has ended a command: by itself, or by its exit code.
func endedBy(sig syscall.Signal, p *process, r result) bool {
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return r.code == 128+int(sig) || status.Signaled() && status.Signal() == sig
}

// endsBy waits until a signal has ended a command.
func (p *process) endsBy(sig syscall.Signal) result {
	p.t.Helper()
	out := p.remaining() // it gives up in the end
	r := p.wait()
	if !endedBy(sig, p, r) || len(out) > 0 {
		p.t.Errorf("%v: exit code %d, want %d; stdout %q, stderr %q", p.cmd.Args[1:], r.code, 128+int(sig), out, r.err)
	}
	return r
}

// silentServer listens, and closes met when a client has connected. It never sends anything.
func silentServer(t *testing.T) (at string, met <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	came := make(chan struct{}, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			select {
			case came <- struct{}{}:
			default:
			}
		}
	}()
	return l.Addr().String(), came
}

// Nothing was requested from a server that has never answered. So there is nothing to undo, and nothing to report.
func TestSignalsEndCommandsOnServersThatSayNothing(t *testing.T) {
	t.Parallel()
	const patient = "?timeout=10m&dial_timeout=10m"
	looks := []string{"ls", "inspect a", "check a", "wait a", "watch a", "doctor", "leaks", "release --force --yes a",
		"open --yes", "audit", "runs a", "runs --forget --yes a"}
	var begun []func()
	for name, it := range map[string]struct {
		url      string
		commands []string
		limited  bool // it gives up by itself after a time that cannot be configured
	}{
		"redis":         {"redis://%s" + patient, looks, false},
		"redis, TLS":    {"rediss://%s" + patient, nil, false},
		"cluster":       {"redis+cluster://%s" + patient, []string{"ls"}, false},
		"cluster, TLS":  {"rediss+cluster://%s" + patient, nil, false},
		"sentinel":      {"redis+sentinel://%s/main" + patient, []string{"ls"}, true},
		"sentinel, TLS": {"rediss+sentinel://%s/main" + patient, nil, true},
		"redlock": {"redlock://%s,localhost:1,localhost:2" + patient + "&node_timeout=10s", []string{"ls"},
			true},
		"redlock, TLS": {"redlocks://%s,localhost:1,localhost:2" + patient + "&node_timeout=10s", nil, true},
		"redisson": {"redisson://%s" + patient, []string{"ls", "inspect a", "check a", "wait a", "watch a", "doctor",
			"leaks", "release --force --yes a"}, false},
		"redisson, TLS":  {"redissons://%s" + patient, nil, false},
		"postgres":       {"postgres://user@%s/db?sslmode=disable", []string{"ls"}, true},
		"postgres, TLS":  {"postgres://user@%s/db?sslmode=require", nil, true},
		"etcd":           {"etcd://%s", []string{"ls", "wait a", "watch", "doctor"}, true},
		"etcd, TLS":      {"etcds://%s", nil, true},
		"zookeeper":      {"zookeeper://%s", []string{"ls"}, true},
		"zookeeper, TLS": {"zookeepers://%s", nil, true},
	} {
		for _, command := range append(it.commands, "run a -- echo ran", "run -n a -- echo ran") {
			at, met := silentServer(t)
			p := newMachine(t).use(fmt.Sprintf(it.url, at)).startPatient(strings.Fields(command)...)
			begun = append(begun, func() {
				select {
				case <-met:
				case <-time.After(testTimeout):
					t.Fatalf("%s: %s: nobody has connected", name, command)
				}
				p.signal(syscall.SIGTERM)
				out, r := p.remaining(), p.wait()
				if r.code == 69 && it.limited && len(out) == 0 {
					return // on a busy machine it had given up before
				}
				if !endedBy(syscall.SIGTERM, p, r) || r.err != "" || len(out) > 0 {
					t.Errorf("%s: %s: exit code %d; stdout %q, stderr %q", name, command, r.code, out, r.err)
				}
			})
		}
	}
	for _, end := range begun {
		end()
	}
}

// stoppableServer is an engine that can be stopped.
type stoppableServer struct {
	url  string
	stop []func() error
}

var stoppableServers = map[string]func(*testing.T) stoppableServer{
	"redis": func(t *testing.T) stoppableServer {
		s := redisserver.ForTest(t, redisserver.Config{})
		return stoppableServer{s.URL() + "?timeout=10m&" + unguarded, []func() error{s.Pause}}
	},
	"cluster": func(t *testing.T) stoppableServer {
		f, at := stoppableServer{}, []string(nil)
		for _, s := range redisserver.ClusterForTest(t, 3, 0, redisserver.Config{}).Nodes {
			f.stop, at = append(f.stop, s.Pause), append(at, s.Addr())
		}
		f.url = "redis+cluster://" + strings.Join(at, ",") + "?timeout=10m&" + unguarded
		return f
	},
	"redlock": func(t *testing.T) stoppableServer {
		f, at := stoppableServer{}, []string(nil)
		for range 3 {
			s := redisserver.ForTest(t, redisserver.Config{})
			f.stop, at = append(f.stop, s.Pause), append(at, s.Addr())
		}
		f.url = "redlock://" + strings.Join(at, ",") + "?timeout=10m&node_timeout=10s&" + unguarded
		return f
	},
	"redisson": func(t *testing.T) stoppableServer {
		s := redisserver.ForTest(t, redisserver.Config{})
		return stoppableServer{"redisson://" + s.Addr() + "?timeout=10m&lock=fair", []func() error{s.Pause}}
	},
	"postgres": func(t *testing.T) stoppableServer {
		s := postgresserver.ForTest(t, postgresserver.Config{TCP: true})
		return stoppableServer{s.URL(), []func() error{s.Pause}}
	},
	"etcd": func(t *testing.T) stoppableServer {
		s := etcdserver.ForTest(t, etcdserver.Config{Volatile: true})
		return stoppableServer{"etcd://" + s.Addr(), []func() error{s.Pause}}
	},
	"zookeeper": func(t *testing.T) stoppableServer {
		s := zookeeperserver.ForTest(t, zookeeperserver.Config{Unsynced: true})
		return stoppableServer{"zookeeper://" + s.Addr(), []func() error{s.Pause}}
	},
}

// Each engine on a server is in the tests of servers that stand still.
func TestEachServerCanBeStopped(t *testing.T) {
	t.Parallel()
	for _, form := range engine.Forms() {
		scheme, _, _ := strings.Cut(form, ":")
		name := strings.TrimPrefix(strings.TrimPrefix(scheme, "redis+"), "redisson+")
		switch name {
		case "memory", "sqlite", "unix", "sentinel":
			continue
		}
		if stoppableServers[name] == nil {
			t.Errorf("no server of %s:", scheme)
		}
	}
}

// A waiter has a place in the queue of a server that no longer answers, and may be granted the lock later. The command
// tries to take that back, but not for long.
func TestSignalsEndWaitersOnServersThatStandStill(t *testing.T) {
	t.Parallel()
	for name, open := range stoppableServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			it := open(t)
			m := newMachine(t).use(it.url)
			m.hold("a")
			waiter := m.startPatient("run", "a", "--", "echo", "ran")
			m.until("a waiter", func() bool { return strings.Contains(m.do("ls", "-o", "json").out, `"waiting":1`) })
			for _, freeze := range it.stop {
				if err := freeze(); err != nil {
					t.Fatal(err)
				}
			}
			waiter.signal(syscall.SIGTERM)
			if r := waiter.endsBy(syscall.SIGTERM); !strings.Contains(r.err, `may still grant it to this run`) {
				t.Errorf("stderr %q", r.err)
			}
		})
	}
}

// timeout and similar programs send a signal to the command and then to its group. That does not count as a second
// signal: the command still takes back its request, also on a distant server.
func TestASignalThatComesTwiceIsOne(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	m := newMachine(t).use(s.URL() + "?" + unguarded)
	m.hold("a")
	waiting := func(n int) func() bool {
		return func() bool { return strings.Contains(m.do("ls", "-o", "json").out, fmt.Sprintf(`"waiting":%d`, n)) }
	}
	far := newMachine(t).use("redis://" + farAway(t, s.Addr(), 30*time.Millisecond) + "?" + unguarded)
	waiter := far.startHelper("thorough", []string{"run", "a", "--", "echo", "ran"})
	m.until("a waiter", waiting(1))
	waiter.signal(syscall.SIGTERM)
	time.Sleep(5 * time.Millisecond) // otherwise the system merges both signals
	_ = waiter.cmd.Process.Signal(syscall.SIGTERM)
	if r := waiter.endsBy(syscall.SIGTERM); r.err != "" {
		t.Errorf("stderr %q", r.err)
	}
	if r := m.do("ls", "-o", "json"); !strings.Contains(r.out, `"waiting":0`) {
		t.Errorf("it still waits: %s", r.out)
	}
}

// farAway returns an address that forwards to another one, with a delay in each direction.
func farAway(t *testing.T, to string, way time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	carry := func(to, from net.Conn) {
		defer to.Close()
		for text := make([]byte, 64<<10); ; {
			n, err := from.Read(text)
			if err != nil {
				return
			}
			time.Sleep(way)
			if _, err := to.Write(text[:n]); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			go carry(far, near)
			go carry(near, far)
		}
	}()
	return l.Addr().String()
}

// The command does not wait for a file that another program has locked.
func TestSignalsEndWaitersOfALockedFile(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.hold("a")
	waiter := m.startPatient("run", "a", "--", "echo", "ran")
	m.until("a waiter", func() bool { return strings.Contains(m.do("ls", "-o", "json").out, `"waiting":1`) })
	m.lockFile()
	waiter.signal(syscall.SIGTERM)
	waiter.endsBy(syscall.SIGTERM)
}

// The program has ended, and its exit code is what counts. A signal ends the wait for the release.
func TestSignalsEndTheReleaseOnAServerThatStandsStill(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	m := newMachine(t).use(s.URL() + "?timeout=10m&" + unguarded)
	p := m.startPatient("run", "a", "--", "sh", "-c", "trap '' TERM; echo up; read x; exit 7")
	p.line()
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	p.in.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.remaining()
	}()
	for look := newTicks(); ; { // a signal that comes too early goes to the program, which ignores it
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			if r := p.wait().want(t, 7); !strings.Contains(r.err, "not confirmed") || strings.Count(r.err, "\n") != 1 {
				t.Errorf("stderr %q", r.err)
			}
			return
		default:
		}
		if !look() {
			t.Fatal("the command does not end")
		}
	}
}
