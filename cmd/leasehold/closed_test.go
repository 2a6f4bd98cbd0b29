//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// After a restart of a server, a run says why it gets no lock. It does not say that somebody holds it, and inspect does
// not say that it is free. A lock that the server still knows is held, as before.
func TestGrantsAreClosedAfterARestart(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}})
	m := newMachine(t).use(s.URL() + "?max_ttl=1h")
	m.do("open", "--yes", "--why", "test").want(t, 0)
	m.do("run", "--min-hold", "1h", "held", "--", "true").want(t, 0)
	m.do("run", "free", "--", "true").want(t, 0)
	s.Kill()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	const because = ", because the server was restarted or promoted; `leasehold open` opens it at once, " +
		"if no lock was lost"
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{0, []string{"inspect", "free"}, "free is not free: grants are closed until "},
		{69, []string{"check", "free"}, `leasehold: "free" is not free: grants are closed until `},
		{69, []string{"run", "-n", "free", "--", "true"}, `leasehold: "free" is not granted: grants are closed until `},
		{69, []string{"run", "-w", "1s", "free", "--", "true"},
			`leasehold: "free" was not granted within 1s: grants are closed until `},
		{0, []string{"ls"}, "grants are closed until "},
		{2, []string{"doctor"}, "grants are closed until "},
	} {
		r := m.do(c.args...).want(t, c.code)
		if all := r.out + r.err; !strings.Contains(all, c.says) || strings.Contains(all, "another owner") ||
			c.args[0] != "doctor" && !strings.Contains(all, because) {
			t.Errorf("%q: stdout %q, stderr %q", c.args, r.out, r.err)
		}
	}
	m.do("check", "held").want(t, 1)
	if r := m.do("run", "-n", "held", "--", "true").want(t, 75); strings.Contains(r.err, "closed") {
		t.Errorf("what is held: stderr %q", r.err)
	}
	if r := m.do("inspect", "held").want(t, 0); strings.Contains(r.out, "free") {
		t.Errorf("what is held: stdout %q", r.out)
	}
	m.do("open", "--yes").want(t, 0)
	m.do("run", "-n", "free", "--", "true").want(t, 0)
}
