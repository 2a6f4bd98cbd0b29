//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/sqlite"
)

// entry is the JSON form.
type entry struct {
	Kind    string
	Name    string
	Waiting int
	Holders []struct {
		Token       uint64
		Mode        string
		Weight      int
		Holder      string
		User        string
		Host        string
		PID         int
		Program     string
		TTL         *int64 `json:"ttl_ms"`
		Age         *int64 `json:"age_ms"`
		Unsuspected any    `json:"owner"`
	}
	Queue []struct {
		Mode   string
		Holder string
		Age    *int64 `json:"age_ms"`
	}
}

func decode[T any](t *testing.T, r result) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.out), &v); err != nil {
		t.Fatalf("%v in %q", err, r.out)
	}
	return v
}

// hold starts a run that holds what the flags say until the end of the test.
func (m *machine) hold(args ...string) *process {
	m.t.Helper()
	p := m.start(append(append([]string{"run"}, args...), "--", "sh", "-c", "echo up; read x")...)
	p.line()
	return p
}

func TestListing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if r := m.do("ls").want(t, 0); !strings.HasPrefix(r.out, "KIND") || strings.Count(r.out, "\n") != 1 {
		t.Errorf("empty: %q", r.out)
	}
	m.hold("alpha")
	m.hold("-s", "beta")
	m.hold("-s", "beta")
	m.hold("--slots", "3", "beta")
	m.hold("evil\n\x1b[31mname")
	m.start("run", "alpha", "--", "true")
	m.until("a waiter", func() bool { return strings.Contains(m.do("ls", "-o", "json").out, `"waiting":1`) })

	all := decode[[]entry](t, m.do("ls", "-o", "json").want(t, 0))
	var seen []string
	for _, e := range all {
		seen = append(seen, e.Kind+" "+e.Name)
		for _, h := range e.Holders {
			if h.Token == 0 || h.Weight != 1 || h.User == "" ||
				h.Holder != fmt.Sprintf("%s@%s:%d %s", h.User, h.Host, h.PID, h.Program) ||
				h.Program != "sh" || h.TTL == nil || *h.TTL <= 0 || *h.TTL > 30000 || h.Age == nil ||
				h.Unsuspected != nil {
				t.Errorf("holder %+v", h)
			}
		}
	}
	if got, want := strings.Join(seen, ", "),
		"lock alpha, lock beta, lock evil\n\x1b[31mname, semaphore beta"; got != want {
		t.Errorf("listed %q, want %q", got, want)
	}
	if all[0].Waiting != 1 || len(all[1].Holders) != 2 || all[1].Holders[0].Mode != "shared" {
		t.Errorf("listed %+v", all[:2])
	}

	table := m.do("ls").want(t, 0).out
	if !strings.Contains(table, `evil\n\x1b[31mname`) || strings.Count(table, "\n") != 6 ||
		strings.Contains(table, "\x1b") {
		t.Errorf("table:\n%s", table)
	}
	if got := decode[[]entry](t, m.do("ls", "-o", "json", "--kind", "semaphore")); len(got) != 1 ||
		got[0].Kind != "semaphore" {
		t.Errorf("--kind: %+v", got)
	}
	if got := decode[[]entry](t, m.do("ls", "-o", "json", "--prefix", "al")); len(got) != 1 || got[0].Name != "alpha" {
		t.Errorf("--prefix: %+v", got)
	}
}

func TestInspectAndCheck(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if r := m.do("inspect", "a").want(t, 0); r.out != "a is free\n" {
		t.Errorf("free: %q", r.out)
	}
	m.do("check", "a").want(t, 0)
	m.hold("a")
	m.start("run", "-s", "a", "--", "true")
	m.until("a waiter", func() bool { return strings.Contains(m.do("inspect", "a").out, "waiting: 1.") })
	m.do("check", "a").want(t, 1)
	m.do("check", "--kind", "semaphore", "a").want(t, 0)
	m.do("check", "b").want(t, 0)

	got := decode[struct {
		Name    string
		Free    bool
		Entries []entry
	}](t, m.do("inspect", "-o", "json", "a").want(t, 0))
	if got.Name != "a" || got.Free || len(got.Entries) != 1 || len(got.Entries[0].Queue) != 1 ||
		got.Entries[0].Queue[0].Mode != "shared" {
		t.Errorf("inspect: %+v", got)
	}
	text := m.do("inspect", "a").out
	for _, want := range []string{"lock a", "held by", "token 1", "exclusive", "ttl", "held for"} {
		if !strings.Contains(text, want) {
			t.Errorf("inspect does not say %q: %q", want, text)
		}
	}
}

func TestReleaseByForce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.hold("-s", "a")
	m.hold("-s", "a")
	r := m.do("release", "--force", "--yes", "--token", "7", "a").want(t, 1)
	if !strings.Contains(r.err, "token 7") {
		t.Errorf("stderr %q", r.err)
	}
	r = m.do("release", "--force", "--yes", "--token", "2", "a").want(t, 0)
	if r.out != "released lock a token 2\n" || !strings.Contains(r.err, "token 2") ||
		strings.Contains(r.err, "token 1") {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	m.do("check", "a").want(t, 1)
	m.do("release", "--force", "--yes", "a").want(t, 0)
	m.do("check", "a").want(t, 0)
}

func TestReleaseAsksOnATerminal(t *testing.T) {
	t.Parallel()
	for answer, code := range map[string]string{"y": "0", "yes": "0", "": "1", "n": "1", "yellow": "1"} {
		t.Run("answer "+answer, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.hold("a")
			s := m.on(exec.Command("sh", "-c", binary+` release --force a; echo "ended $?"`))
			s.see("token 1")
			s.keys(answer + "\n")
			s.see("ended " + code)
			free := map[string]int{"0": 0, "1": 1}[code]
			m.do("check", "a").want(t, free)
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if r := m.do("version").want(t, 0); !strings.HasPrefix(r.out, "leasehold ") {
		t.Errorf("%q", r.out)
	}
	got := decode[map[string]any](t, m.do("version", "-o", "json").want(t, 0))
	for _, field := range []string{"version", "go", "platform", "modified"} {
		if _, ok := got[field]; !ok {
			t.Errorf("no %s in %v", field, got)
		}
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := m.do("completion", shell).want(t, 0); !strings.Contains(r.out, "leasehold") {
			t.Errorf("%s: %q", shell, r.out)
		}
	}
	m.do("completion", "nosuch").want(t, 64)
	m.hold("deploy")
	m.hold("-s", "dev")
	m.hold("--slots", "2", "dev")
	m.hold("de\nv")
	m.hold("de\x1b]0;v\x07") // a name that could steer the terminal is not offered
	m.hold("de\u202ev")
	for _, command := range []string{"inspect", "check", "wait", "watch", "release"} {
		r := m.do("__complete", command, "de").want(t, 0)
		if !strings.HasPrefix(r.out, "deploy\ndev\n:4\n") {
			t.Errorf("%s: %q", command, r.out)
		}
	}
}

func TestListingGoesThroughAllPages(t *testing.T) {
	t.Parallel()
	const names = 1234 // more than a page
	m := newMachine(t)
	engine, err := sqlite.Open(m.db)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	client := leasehold.New(engine)
	defer client.Close()
	for i := range names {
		if _, err := client.Mutex(fmt.Sprint("name ", i), leasehold.TTL(time.Hour)).TryLock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := decode[[]entry](t, m.answer("ls", "-o", "json").want(t, 0)); len(got) != names {
		t.Errorf("listed %d, want %d", len(got), names)
	}
	for form, want := range map[string]int{"table": names + 1, "jsonl": names} {
		if got := strings.Count(m.answer("ls", "-o", form).want(t, 0).out, "\n"); got != want {
			t.Errorf("%s: %d lines, want %d", form, got, want)
		}
	}
	// In parts, as the messages say.
	seen, parts := map[string]bool{}, 0
	for args := []string{"ls", "-o", "jsonl", "--limit", "500"}; ; parts++ {
		r := m.answer(args...).want(t, 0)
		for line := range strings.Lines(r.out) {
			if seen[line] = true; !strings.HasPrefix(line, `{"kind":"lock","name":"name `) {
				t.Fatalf("line %q", line)
			}
		}
		_, after, more := strings.Cut(strings.TrimSpace(r.err), "--after ")
		if !more {
			break
		}
		args = append(args[:5], "--after", strings.Trim(after, "'"))
	}
	if len(seen) != names || parts != 2 {
		t.Errorf("listed %d in %d parts", len(seen), parts+1)
	}
}

// answer is do, but runs the command again as long as the engine does not answer in time, as on a busy machine.
func (m *machine) answer(args ...string) result {
	m.t.Helper()
	for began := time.Now(); ; {
		if r := m.do(args...); r.code != 69 || !strings.Contains(r.err, "no answer in time") ||
			time.Since(began) > testTimeout {
			return r
		}
	}
}

// Names and texts of others can neither look alike nor look like columns of the table.
func TestNamesInTablesAreUnambiguous(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	names := []string{"lit\nx", `lit\nx`, `"lit\nx"`, "a write 7", "a  write  7  30s", "plain"}
	for _, name := range names {
		p := m.start("run", name, "--", "sh", "-c", "echo up; read x")
		p.line()
	}
	seen := map[string]bool{}
	lines := strings.Split(strings.TrimSpace(m.do("ls").want(t, 0).out), "\n")
	for _, line := range lines[1:] {
		cell := regexp.MustCompile(`^lock +("(?:[^"\\]|\\.)*"|\S+)  `).FindStringSubmatch(line)
		if cell == nil {
			t.Fatalf("no name in %q", line)
		}
		name := cell[1]
		if text, err := strconv.Unquote(name); err == nil {
			name = text
		}
		if !slices.Contains(names, name) || seen[name] {
			t.Errorf("the name in %q is %q", line, name)
		}
		seen[name] = true
	}
	if len(seen) != len(names) {
		t.Errorf("%d of %d names are there:\n%s", len(seen), len(names), strings.Join(lines, "\n"))
	}
	if r := m.do("inspect", "a write 7").want(t, 0); !strings.HasPrefix(r.out, `lock "a write 7"  held by `) {
		t.Errorf("inspect says %q", r.out)
	}
}
