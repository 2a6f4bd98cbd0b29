//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// changeLine is the JSON form of a change.
type changeLine struct {
	Event, Kind, Name string
	Holder, From      *struct {
		Token  uint64
		Holder string
	}
}

// event reads lines until an event of that kind.
func (p *process) event(want string) changeLine {
	p.t.Helper()
	for {
		var c changeLine
		line := p.line()
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			p.t.Fatalf("%v in %q", err, line)
		}
		if c.Event == want {
			return c
		}
	}
}

// A server goes away, and comes back without its locks.
func TestWatchGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
	m := newMachine(t).use("redis://" + withPassword("") + s.Addr() + "?" + unguarded)
	redisCommand(t, s, "SET", "lock:a", "somebody", "PX", "120000")
	p := m.start("watch", "--interval", "100ms", "-o", "json")
	p.event("held")
	s.Kill()
	p.event("away")
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	p.event("back")
	if c := p.event("released"); c.Kind != "lock" || c.Name != "a" || c.From == nil || c.Holder != nil {
		t.Errorf("released: %+v", c)
	}
	holder := m.hold("b")
	if c := p.event("granted"); c.Name != "b" || c.Holder == nil || c.Holder.Token == 0 {
		t.Errorf("granted: %+v", c)
	}
	p.signal(syscall.SIGTERM)
	p.remaining()
	r := p.wait().want(t, 128+int(syscall.SIGTERM)).wantNoSecret(t)
	if strings.Count(r.err, "\n") != 2 || !strings.Contains(r.err, "polling has failed") ||
		!strings.Contains(r.err, "is back") {
		t.Errorf("stderr %q", r.err)
	}
	holder.in.Close()
}

// A shell without job control makes background processes ignore INT, which Ctrl-C sends to all.
func TestWatchIgnoresWhatItWasToldToIgnore(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.hold("a")
	c := m.command()
	c.Path, c.Args = "/bin/sh", []string{"sh", "-c", "trap '' INT; exec " + binary + " watch --interval 100ms -o json"}
	p := m.begin(c)
	p.event("held")
	p.signal(syscall.SIGINT)
	m.hold("b")
	p.event("granted")
	p.signal(syscall.SIGTERM)
	p.remaining()
	p.wait().want(t, 128+int(syscall.SIGTERM))
}

// The command ends when its reader does.
func TestWatchEndsWithItsReader(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.hold("a")
	c := m.command()
	c.Path, c.Args = "/bin/sh", []string{"sh", "-c", binary + " watch --interval 100ms | head -n 1; echo over"}
	p := m.begin(c)
	if line := p.line(); !strings.Contains(line, "held") {
		t.Errorf("the first line is %q", line)
	}
	m.hold("b") // the write that reports it fails
	if rest := p.remaining(); len(rest) != 1 || rest[0] != "over" {
		t.Errorf("then came %q", rest)
	}
	p.wait().want(t, 0)
}
