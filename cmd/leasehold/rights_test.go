//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// setOfRights returns the arguments of ACL SETUSER that the engine's page gives for one of the sets.
func setOfRights(t *testing.T, set string) (words []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/engines/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```\n# "+set+": ")
	text, _, _ := strings.Cut(rest, "```\n")
	if !found {
		t.Fatalf("the page has no rights for %s", set)
	}
	for line := range strings.Lines("# " + text) {
		if !strings.HasPrefix(line, "#") {
			words = append(words, strings.Fields(line)...)
		}
	}
	return words
}

// On Redis each command needs one set of rights. With another set, it reports what is missing.
func TestCommandsNeedOneSetOfRights(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}})
	at := map[string]string{}
	for _, set := range []string{"look", "lock", "operate"} {
		redisCommand(t, s, append([]string{"ACL", "SETUSER", set, "on", ">" + geheim}, setOfRights(t, set)...)...)
		at[set] = "redis://" + withPassword(set) + s.Addr()
	}
	m := newMachine(t)
	refused := func(args ...string) {
		t.Helper()
		if r := m.do(args...).want(t, 69).wantNoSecret(t); !strings.Contains(r.err,
			"smallest rights in docs/engines/redis.md") {
			t.Errorf("%q: stderr %q", args, r.err)
		}
	}
	m.use(at["look"]).do("ls").want(t, 0)
	if r := m.do("doctor", "-o", "json"); !strings.Contains(r.out, `"grants-closed"`) ||
		!strings.Contains(r.out, `"rights-look"`) {
		t.Errorf("the doctor says %q, %q", r.out, r.err)
	}
	refused("open", "--yes")
	m.use(at["operate"]).do("open", "--yes", "--why", "a test").want(t, 0)

	m.use(at["lock"])
	m.do("run", "--once", "1", "job", "--", "true").want(t, 0)
	holder := m.hold("--ttl", "20s", "a")
	next := m.start("run", "-w", "60s", "a", "--", "echo", "it was my turn")
	refused("release", "--force", "--yes", "a")

	m.use(at["look"])
	m.until("a waiter", func() bool { return strings.Contains(m.do("ls", "-o", "json").want(t, 0).out, `"waiting":1`) })
	m.do("inspect", "a").want(t, 0)
	m.do("check", "a").want(t, 1)
	m.do("wait", "-w", "0", "a").want(t, 75)
	m.do("leaks").want(t, 0)
	m.do("audit").want(t, 0)
	if r := m.do("runs", "job").want(t, 0); !strings.HasPrefix(r.out, "done: 1\n") {
		t.Errorf("the runs are %q", r.out)
	}
	refused("runs", "--forget", "--yes", "job")
	m.do("doctor").want(t, 0).wantNoSecret(t)
	e := m.export()
	e.awaitMetrics("leasehold_up 1", `leasehold_locks_held{kind="lock",resource="default"} 1`,
		`leasehold_waiters{kind="lock"} 1`)
	e.end(syscall.SIGTERM)
	refused("run", "b", "--", "echo", "must not run")
	refused("release", "--force", "--yes", "a")

	m.use(at["operate"]).do("release", "--force", "--yes", "--why", "a test", "a").want(t, 0)
	if line := next.line(); line != "it was my turn" {
		t.Errorf("the next one says %q", line)
	}
	next.wait().want(t, 0)
	holder.in.Close()
	holder.wait().want(t, 70)
	if r := m.use(at["look"]).do("audit").want(t, 0); !strings.Contains(r.out, "a test") {
		t.Errorf("the record is %q", r.out)
	}
}

// The live view needs no more rights than the other commands that only read.
func TestTopWithTheRightToLook(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	redisCommand(t, s, append([]string{"ACL", "SETUSER", "look", "on", ">" + geheim}, setOfRights(t, "look")...)...)
	m := newMachine(t).use("redis://" + s.Addr() + "?" + unguarded)
	m.hold("deploy")
	w := m.use("redis://"+withPassword("look")+s.Addr()).window("120", "24")
	w.run(`"$LH" top --interval 500ms`)
	w.see("servers 1", "deploy", "q quit")
	w.press("Enter")
	w.see("held by")
	w.press("q")
	w.see("ready>")
	w.plain()
}

// The same on etcd, with roles.
func TestCommandsNeedOneRole(t *testing.T) {
	t.Parallel()
	s := etcdWithUsers(t, map[string]string{"look": "look", "lock": "lock", "operate": "operate"})
	m := newMachine(t)
	as := func(user string) *machine { return m.use("etcd://" + withPassword(user) + s.Addr()) }
	refused := func(args ...string) {
		t.Helper()
		if r := m.do(args...).want(t, 69).wantNoSecret(t); !strings.Contains(r.err,
			"lacks the right to write leasehold/") || !strings.Contains(r.err, "etcdctl role grant-permission ROLE") {
			t.Errorf("%q: stderr %q", args, r.err)
		}
	}
	as("lock")
	holder := m.hold("--ttl", "20s", "a")

	as("look")
	if r := m.do("ls", "-o", "json").want(t, 0); !strings.Contains(r.out, `"name":"a"`) {
		t.Errorf("listed %q", r.out)
	}
	m.do("inspect", "a").want(t, 0)
	m.do("check", "a").want(t, 1)
	m.do("wait", "-w", "0", "a").want(t, 75)
	if r := m.do("doctor", "-o", "json").want(t, 0); !strings.Contains(r.out, `"rights-look"`) {
		t.Errorf("the doctor says %q", r.out)
	}
	e := m.export()
	e.awaitMetrics("leasehold_up 1", `leasehold_locks_held{kind="lock",resource="default"} 1`)
	e.end(syscall.SIGTERM)
	refused("run", "b", "--", "echo", "must not run")
	refused("release", "--force", "--yes", "a")

	as("operate")
	refused("run", "b", "--", "echo", "must not run")
	m.do("release", "--force", "--yes", "a").want(t, 0)
	holder.in.Close()
	holder.wait().want(t, 70)
}
