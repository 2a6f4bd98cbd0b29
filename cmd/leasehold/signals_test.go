//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSignalsReachTheGroup(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT} {
		name := strings.TrimPrefix(unix.SignalName(sig), "SIG")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			p := m.start("run", "a", "--", "sh", "-c",
				"trap 'echo heard; exit 5' "+name+"; echo up; while :; do sleep 0.05; done")
			p.line()
			p.signal(sig)
			if got := p.line(); got != "heard" {
				t.Errorf("the child said %q", got)
			}
			p.wait().want(t, 5)
		})
	}
}

func TestSignalWhileWaitingGivesUp(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	holder := m.start("run", "a", "--", "sh", "-c", "echo up; read x")
	holder.line()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		waiter := m.start("run", "a", "--", "echo", "must not run")
		m.until("a waiter", func() bool { return strings.Contains(m.do("ls", "-o", "json").out, `"waiting":1`) })
		waiter.signal(sig)
		waiter.wait().want(t, 128+int(sig))
		if rest := waiter.remaining(); len(rest) > 0 {
			t.Errorf("the command ran: %q", rest)
		}
		m.until("the queue to be empty", func() bool {
			return strings.Contains(m.do("ls", "-o", "json").out, `"waiting":0`)
		})
	}
}

// Opening an engine waits for a server that does not answer. Nothing is held then, so a signal ends the command without
// waiting for the server.
func TestSignalWhileAnEngineIsOpenedEndsTheCommand(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"redlock": "redlock://%[1]s,localhost:1,localhost:2", "postgres": "postgres://user@%s/db?sslmode=disable",
		"zookeeper": "zookeeper://%s",
	} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(name+" "+unix.SignalName(sig), func(t *testing.T) {
				t.Parallel()
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
				m := newMachine(t).use(fmt.Sprintf(url, l.Addr()))
				p := m.start("run", "a", "--", "echo", "must not run")
				c, err := l.Accept() // the engine is being opened now
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				p.signal(sig)
				if r := p.wait(); r.code != 128+int(sig) || r.err != "" || len(p.remaining()) != 0 {
					t.Errorf("exit code %d, want %d; stderr %q", r.code, 128+int(sig), r.err)
				}
			})
		}
	}
}

func TestStopWithoutAShellIsNoStop(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "LEASEHOLD_TEST_HELPER=talker")
	c := m.command("run", "a", "--", os.Args[0])
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no shell could continue it
	p := m.begin(c)
	p.line()
	p.signal(syscall.SIGTSTP)
	if got := p.line(); got != "woken" {
		t.Errorf("the child said %q", got)
	}
	p.in.Close()
	p.wait().want(t, 0)
}

// newTicks returns a function that waits before the next check, and reports false after testTimeout. The waits get
// longer, since most checks start processes, which take time from what they wait for.
func newTicks() func() bool {
	began, moment := time.Now(), 20*time.Millisecond
	return func() bool {
		time.Sleep(moment)
		moment = min(moment*5/4, 250*time.Millisecond)
		return time.Since(began) < testTimeout
	}
}

// until waits for something that only another process can show.
func (m *machine) until(what string, ok func() bool) {
	m.t.Helper()
	for look := newTicks(); !ok(); {
		if !look() {
			m.t.Fatalf("no sign of %s", what)
		}
	}
}
