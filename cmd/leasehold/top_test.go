//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// busyServer is an engine that some programs use.
func busyServer(t *testing.T) (*machine, *redisserver.Server) {
	t.Helper()
	s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
	at := "redis://" + withPassword("") + s.Addr() + "?" + unguarded
	m := newMachine(t).use(at + "&dial_timeout=500ms&timeout=500ms")
	open := func() *redis.Engine {
		engine, err := redis.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = engine.Close() })
		return engine
	}
	client := func(holder string) *leasehold.Client {
		c := leasehold.New(open(), leasehold.WithHolder(holder))
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	hold := func(try func(context.Context) (*leasehold.Lease, error)) {
		t.Helper()
		if _, err := try(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	hold(client("build-7:4711 deployer release").Mutex("deploy:shop").TryLock)
	hold(client("db-2:1207 cron").Mutex("cron:nightly").TryLock)
	hold(client("app-3:77 orders").RWMutex("orders:sync").TryRLock)
	hold(client("app-4:71 orders").RWMutex("orders:sync").TryRLock)
	hold(func(ctx context.Context) (*leasehold.Lease, error) {
		return client("media-1:881 transcoder").Semaphore("transcode", 3).TryAcquire(ctx, 1)
	})
	hold(client("attic:1 \x1b]0;pwned\x07").Mutex("evil\n\x1b[31mname\x1b[2J").TryLock)
	hold(client("tokyo-1:9 ジョブ").Mutex("日本語の名前").TryLock)
	ops := admin.New(open())
	for i, holder := range []string{"build-8:4712 deployer release", "build-9:4713 deployer hotfix"} {
		c := client(holder)
		go func() { _, _ = c.Mutex("deploy:shop").Lock(t.Context()) }() // until the end of the test
		m.until("a waiter", func() bool {
			found, err := ops.Inspect(t.Context(), "deploy:shop")
			return err == nil && len(found) == 1 && found[0].Waiting > i
		})
	}
	return m, s
}

// writeEnv names a document. The test replaces its block of text after a line with "screen of leasehold top" by the
// screen that it sees.
const writeEnv = "LEASEHOLD_WRITE_SCREEN"

func TestTop(t *testing.T) {
	t.Parallel()
	m, server := busyServer(t)
	w := m.window("120", "20")
	w.run(`(stty -g >before; $LH top --interval 500ms; echo $? >code; stty -g >after)`)
	screen := w.see("held 6", "waiting 2", "names 6", "grants/s", "servers 1", "deploy:shop", "日本語の名前",
		`evil\n\x1b[31mname\x1b[2J`, "build-7:4711 deployer release", "q quit")
	for _, secret := range []string{"heim", "%"} {
		if strings.Contains(screen, secret) {
			t.Errorf("the password is shown:\n%s", screen)
		}
	}
	lines := strings.Split(screen, "\n")
	if !strings.HasPrefix(lines[6], "lock       deploy:shop") {
		t.Errorf("what is waited for is not at the top:\n%s", screen)
	}
	if title := w.tmux("display-message", "-p", "#{pane_title}"); strings.Contains(title, "pwned") {
		t.Errorf("a holder has set the title: %q", title)
	}
	if file := os.Getenv(writeEnv); file != "" {
		writeScreen(t, file, screen)
	}

	w.press("n", "n")
	w.wait("another order", func(screen string) bool {
		return strings.HasPrefix(strings.Split(screen, "\n")[6], "lock       日本語の名前")
	})
	w.press("/")
	w.run("SHOP")
	w.see("filter: SHOP", "1 of 6 names match", "deploy:shop")
	w.lose("transcode")
	w.press("Enter")
	w.see("lock deploy:shop", "held by build-7:4711 deployer release", "2 waiting", "1. build-8:4712 deployer release",
		"2. build-9:4713 deployer hotfix", "program deployer, label release")

	w.tmux("resize-window", "-x", "40", "-y", "10")
	w.wait("a small screen", func(screen string) bool {
		return strings.Contains(screen, "lock deploy:shop") && strings.Contains(screen, "q quit") &&
			strings.Count(screen, "\n") == 10
	})
	w.press("Escape")
	w.see("NAME", "WAITING")
	w.tmux("resize-window", "-x", "5", "-y", "2")
	w.see("held")
	w.tmux("resize-window", "-x", "120", "-y", "30")
	w.press("Escape")
	w.see("transcode", "TOKEN", "████████")

	w.press("C-z")
	w.see("Stopped")
	w.plain()
	w.lose("transcode")
	w.run("fg")
	w.see("transcode", "q quit")

	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	w.see("STALE", "transcode")
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	w.lose("STALE")

	w.press("p")
	w.see("PAUSED")
	w.press("Enter")
	w.see("PAUSED", "held by")
	w.press("Escape")
	w.see("NAME", "WAITING")
	w.press("?")
	w.see("suspend; fg goes on")
	w.press("q")
	if code := m.file("code"); code != "0" {
		t.Errorf("exit code %s", code)
	}
	w.wantRestored()
	w.lose("transcode")
}

// wantRestored fails the test unless the terminal is as before.
func (w *window) wantRestored() {
	w.m.t.Helper()
	if before, after := w.m.file("before"), w.m.file("after"); before != after || len(before) < 10 {
		w.m.t.Errorf("the modes of the terminal were %s, and are %s", before, after)
	}
	w.plain()
}

// writeScreen puts a screen into a document.
func writeScreen(t *testing.T, file, screen string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)(<!-- screen of leasehold top -->\n```text\n).*?(```\n)")
	if !block.Match(text) {
		t.Fatalf("%s does not mark where the screen goes", file)
	}
	screen = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllLiteralString(strings.TrimRight(screen, "\n")+"\n",
		"127.0.0.1:6379")
	if err := os.WriteFile(file, block.ReplaceAll(text, []byte("${1}"+strings.ReplaceAll(screen, "$", "$$")+"${2}")),
		0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSignalsEndTopAndRestoreTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal syscall.Signal
		term   string
	}{{syscall.SIGTERM, "screen"}, {syscall.SIGINT, "xterm"}, {syscall.SIGHUP, "xterm-256color"},
		{syscall.SIGQUIT, "linux"}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.hold("deploy")
			w := m.window("80", "24")
			w.run(`(stty -g >before; TERM=` + c.term +
				` sh -c 'echo $$ >pid; exec "$LH" top'; echo $? >code; stty -g >after)`)
			w.see("deploy", "q quit")
			pid, err := strconv.Atoi(m.file("pid"))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, c.signal); err != nil {
				t.Fatal(err)
			}
			if code := m.file("code"); code != strconv.Itoa(128+int(c.signal)) {
				t.Errorf("exit code %s", code)
			}
			w.wantRestored()
			w.lose("q quit")
		})
	}
}

// A stop from outside works as Ctrl-Z does. A stop that no program can catch leaves the terminal as it is, but the
// screen is complete afterwards.
func TestTopContinuesAfterASuspension(t *testing.T) {
	t.Parallel()
	for _, stop := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGSTOP} {
		t.Run(stop.String(), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.hold("deploy")
			w := m.window("80", "24")
			w.run(`"$LH" top & echo $! >pid; fg`)
			w.see("deploy", "q quit")
			pid, err := strconv.Atoi(m.file("pid"))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, stop); err != nil {
				t.Fatal(err)
			}
			w.see("Stopped")
			if stop == syscall.SIGTSTP {
				w.plain()
			}
			w.run("clear; fg")
			w.lose("Stopped") // cleared, with everything that was on the screen
			w.see("deploy", "q quit")
			w.press("q")
			w.see("ready>")
			w.plain()
		})
	}
}

func TestTopEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.hold("deploy")
	w := m.window("80", "24")
	w.run(`(trap : HUP; "$LH" top; echo $? >code)`)
	w.see("deploy", "q quit")
	w.tmux("kill-session")
	if code := m.file("code"); code != "129" {
		t.Errorf("exit code %s", code)
	}
}

func TestTopOnOtherEngines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		engine func(t *testing.T) string
		table  []string
		one    []string
	}{
		"memory":  {func(*testing.T) string { return "memory:" }, []string{"nothing is held, and nobody waits"}, nil},
		"cluster": {redisForms["cluster"], []string{"servers 3", "3 ok", "deploy"}, []string{"held by"}},
		"redisson": {func(t *testing.T) string {
			s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
			return "redisson://" + withPassword("") + s.Addr()
		}, []string{"servers 1", "1 ok", "deploy"}, []string{"held by"}},
		"majority with a frozen server": {func(t *testing.T) string {
			var addresses []string
			for i := range 3 {
				s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
				addresses = append(addresses, s.Addr())
				if i == 2 {
					if err := s.Pause(); err != nil {
						t.Fatal(err)
					}
				}
			}
			return "redlock://" + withPassword("") + strings.Join(addresses, ",") + "?node_timeout=1s&" + unguarded
		}, []string{"servers 3", "2 ok", "1 SILENT", "deploy"}, []string{"held by", ": SILENT", ": held by"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t).use(c.engine(t))
			if c.one != nil {
				m.hold("deploy")
			}
			w := m.window("120", "24")
			w.run(`"$LH" top --interval 500ms`)
			w.see(append(c.table, "q quit")...)
			w.press("Enter")
			if screen := w.see(c.one...); strings.Contains(screen, "heim") {
				t.Errorf("the password is shown:\n%s", screen)
			}
			w.press("q")
			w.see("ready>")
			w.plain()
		})
	}
}

func TestTopHasNoColorsIfTheyAreNotWanted(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]bool{"NO_COLOR=": true, "NO_COLOR=1": false} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.hold("a")
			m.hold("größe")
			w := m.window("80", "24")
			w.run(set + ` LC_ALL=C "$LH" top`)
			w.see("####", `gr\u00f6\u00dfe`, "q quit")
			out := w.tmux("capture-pane", "-p", "-e")
			if got := regexp.MustCompile(`[[;]3[0-8][;m]`).MatchString(out); got != want {
				t.Errorf("colours: %v, want %v\n%q", got, want, out)
			}
			for _, r := range out {
				if r > '~' {
					t.Fatalf("%q is not ASCII", r)
				}
			}
		})
	}
}

func TestTopNeedsATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if r := m.do("top").want(t, 64); !strings.Contains(r.err, "standard output is none") ||
		!strings.Contains(r.err, "leasehold ls") || r.out != "" {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	for script, want := range map[string]string{
		binary + ` top </dev/null`:            "standard input is none",
		`TERM=dumb ` + binary + ` top`:        `TERM is "dumb"`,
		`TERM= ` + binary + ` top`:            `TERM is ""`,
		binary + ` top --interval 1ms`:        "--interval is 1ms",
		binary + ` top --kind none`:           "--kind",
		`TERM=xterm ` + binary + ` top extra`: "extra",
	} {
		s := m.on(exec.Command("sh", "-c", "export TERM=xterm; "+script+`; echo "ended $?"`))
		if got := s.see("ended 64"); !strings.Contains(got, want) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q", script, got)
		}
	}
}
