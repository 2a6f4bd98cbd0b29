//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	corrupt := filepath.Join(m.home, "corrupt.db")
	if err := os.WriteFile(corrupt, []byte(strings.Repeat("this is no database. ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []string {
		return append(append([]string{"run"}, args...), "--", "echo", "must not run")
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says []string // the value, and what is allowed
	}{
		{"no command", []string{"run", "a"}, 64, []string{`"a"`, "NAME -- CMD"}},
		{"no command behind the dashes", []string{"run", "a", "--"}, 64, []string{`"a"`, "NAME -- CMD"}},
		{"no name", []string{"run"}, 64, []string{"NAME -- CMD"}},
		{"empty name", run(""), 64, []string{`""`, "1 to 1024 bytes"}},
		{"long name", run(strings.Repeat("x", 1025)), 64, []string{"xxxx", "1 to 1024 bytes"}},
		{"invalid name", run("a\xffb"), 64, []string{`a\xffb`, "UTF-8"}},
		{"ttl too short", run("--ttl", "1ms", "a"), 64, []string{"1ms", "100ms to 24h"}},
		{"ttl too long", run("--ttl", "25h", "a"), 64, []string{"25h", "100ms to 24h"}},
		{"ttl no duration", run("--ttl", "soon", "a"), 64, []string{"soon", "--ttl", "30s"}},
		{"negative wait", run("--wait", "-1s", "a"), 64, []string{"-1s", "0 or more"}},
		{"endless wait", run("--wait", "+Inf", "a"), 64, []string{"+Inf", "duration"}},
		{"wait, but do not", run("-n", "--wait", "5s", "a"), 64, []string{"--nonblock", "--wait 5s", "one of them"}},
		{"max-waiters 0", run("--max-waiters", "0", "a"), 64, []string{"--max-waiters 0", "1 to 2147483647"}},
		{"max-hold 0", run("--max-hold", "0", "a"), 64, []string{"--max-hold 0s", "it must be at least 100ms"}},
		{"max-hold too short", run("--max-hold", "99ms", "a"), 64,
			[]string{"--max-hold 99ms", "it must be at least 100ms"}},
		{"kill-after over a third of the ttl", run("--kill-after", "11s", "a"), 64,
			[]string{"--kill-after 11s", "at most 10s", "--ttl"}},
		{"kill-after over a third of a short ttl", run("--ttl", "3s", "--kill-after", "2s", "--max-hold", "1m", "a"),
			64, []string{"--kill-after 2s", "at most 1s", "ttl of 3s"}},
		{"kill-after without SIGTERM", run("--on-lost", "kill", "--kill-after", "1s", "a"), 64,
			[]string{"--on-lost kill", "--kill-after 1s", "one of them"}},
		{"kill-after without an end", run("--on-lost", "warn", "--kill-after", "1s", "a"), 64,
			[]string{"--on-lost warn", "--kill-after 1s", "one of them"}},
		{"min-hold too long", run("--min-hold", "25h", "a"), 64, []string{"25h", "24h"}},
		{"min-hold over max-hold", run("--min-hold", "2m", "--max-hold", "1m", "a"), 64,
			[]string{"2m", "at most", "1m"}},
		{"slots 0", run("--slots", "0", "a"), 64, []string{"0", "at least 1"}},
		{"negative slots", run("--slots", "-3", "a"), 64, []string{"-3", "at least 1"}},
		{"slots no number", run("--slots", "many", "a"), 64, []string{"many", "--slots"}},
		{"slots and shared", run("--slots", "2", "-s", "a"), 64, []string{"--slots", "--shared"}},
		{"on-lost", run("--on-lost", "panic", "a"), 64, []string{"panic", "term or kill or warn"}},
		{"conflict exit code", run("-E", "256", "a"), 64, []string{"256", "0 to 255"}},
		{"skip-ok and a code", run("--skip-ok", "-E", "3", "a"), 64, []string{"--skip-ok", "--conflict-exit-code"}},
		{"two sorts of ticks", run("--every", "1h", "--once", "k", "a"), 64,
			[]string{"--every and --once", "one of them"}},
		{"no period", run("--every", "0", "a"), 64, []string{"--every", "at least 1ms"}},
		{"no key", run("--once", "", "a"), 64, []string{"--once", "1 to 1024 bytes"}},
		{"no schedule", run("--schedule", "0 3 * *", "a"), 64, []string{`"0 3 * *"`, "five fields"}},
		{"a period as a schedule", run("--schedule", "@every 1h", "a"), 64, []string{"@every", "--every"}},
		{"a schedule that never comes", run("--schedule", "0 0 30 2 *", "a"), 64, []string{"0 0 30 2 *", "nine years"}},
		{"no zone", run("--schedule", "@daily", "--zone", "Berlin", "a"), 64, []string{`"Berlin"`, "Europe/Berlin"}},
		{"a zone of nothing", run("--every", "1h", "--zone", "UTC", "a"), 64, []string{"--zone", "--schedule"}},
		{"a failure of nothing", run("--retry-failed", "a"), 64, []string{"--retry-failed", "--once"}},
		{"a tick for many", run("--once", "k", "--shared", "a"), 64, []string{"--once", "--shared"}},
		{"no job", []string{"runs"}, 64, []string{"NAME", "runs [flags] NAME"}},
		{"forgetting without a terminal", []string{"runs", "--forget", "a"}, 64, []string{"--forget", "--yes"}},
		{"unknown flag", run("--fast", "a"), 64, []string{"--fast", "--help"}},
		{"unknown command", []string{"lock", "a"}, 64, []string{`"lock"`, "--help"}},
		{"too many words", []string{"check", "a", "b"}, 64, []string{`"b"`, "check [flags] NAME"}},
		{"no word", []string{"inspect"}, 64, []string{"NAME", "inspect [flags] NAME"}},
		{"word for ls", []string{"ls", "a"}, 64, []string{`"a"`, "ls [flags]"}},
		{"output", []string{"ls", "-o", "xml"}, 64, []string{"xml", "table or json"}},
		{"limit 0", []string{"ls", "--limit", "0"}, 64, []string{"--limit 0", "at least 1"}},
		{"position", []string{"ls", "--after", "order:1"}, 64, []string{"order:1", "KIND/NAME"}},
		{"pattern", []string{"ls", "--match", "a[z"}, 64, []string{"a[z", "order:*"}},
		{"lines of a latch", []string{"inspect", "-o", "jsonl", "a"}, 64, []string{"jsonl", "table or json"}},
		{"two names to watch", []string{"watch", "a", "b"}, 64, []string{`"b"`, "watch [flags] [NAME]"}},
		{"a name and a prefix to watch", []string{"watch", "--prefix", "a", "b"}, 64,
			[]string{`"b"`, `"a"`, "one of them"}},
		{"an empty name to watch", []string{"watch", ""}, 64, []string{`""`, "leave it out"}},
		{"watching all the time", []string{"watch", "--interval", "1ms"}, 64, []string{"1ms", "at least 100ms"}},
		{"no name to wait for", []string{"wait"}, 64, []string{"NAME", "wait [flags] NAME"}},
		{"empty name to wait for", []string{"wait", ""}, 64, []string{`""`, "1 to 1024 bytes"}},
		{"wait no duration", []string{"wait", "-w", "soon", "a"}, 64, []string{"soon", "30s"}},
		{"yes to no question", []string{"leaks", "--yes"}, 64, []string{"--fix"}},
		{"fixing without a terminal", []string{"leaks", "--fix"}, 64, []string{"--yes"}},
		{"no removals at all", []string{"audit", "--limit", "-1"}, 64, []string{"--limit -1", "at least 1"}},
		{"kind", []string{"ls", "--kind", "mutex"}, 64, []string{"mutex", "lock or semaphore or latch"}},
		{"release without force", []string{"release", "a"}, 64, []string{`"a"`, "--force"}},
		{"release without a terminal", []string{"release", "--force", "a"}, 64, []string{"--yes"}},
		{"release of what is free", []string{"release", "--force", "--yes", "a"}, 1, []string{`"a"`, "free"}},
		{"no such case", []string{"demo", "a", "h"}, 64, []string{`"h"`, "a, b, c, d, e, f, g"}},
		{"seed no number", []string{"demo", "--seed", "-1"}, 64, []string{"-1", "--seed"}},
		{"picture without a file", []string{"demo", "--svg", ""}, 64, []string{"--svg", "file"}},
		{"form of the demo", []string{"demo", "-o", "svg"}, 64, []string{"svg", "table or json"}},
		{"no engine", run("--engine", "", "a"), 64, []string{"engine URL", "memory: or sqlite:PATH"}},
		{"engine without scheme", run("--engine", "locks.db", "a"), 64, []string{"locks.db", "sqlite:PATH"}},
		{"unknown scheme", run("--engine", "mysql://h/db", "a"), 64, []string{`"mysql"`, "memory: or sqlite:PATH"}},
		{"unknown parameter", run("--engine", "sqlite:x.db?fast=1", "a"), 64, []string{`"fast"`, "one of share"}},
		{"host in a file's URL", run("--engine", "sqlite://host/x.db", "a"), 64, []string{"host", "sqlite:///"}},
		{"no path", run("--engine", "sqlite:", "a"), 64, []string{"path", "sqlite:locks.db"}},
		{"Redis without a host", run("--engine", "redis://", "a"), 64, []string{"host", "localhost"}},
		{"Redis with an unknown parameter", run("--engine", "redis://h?fast=1", "a"), 64,
			[]string{`"fast"`, "max_ttl", "dial_timeout"}},
		{"Redis with a value that is not allowed", run("--engine", "redis://h?max_ttl=soon", "a"), 64,
			[]string{`"max_ttl"`, "duration"}},
		{"TLS without TLS", run("--engine", "redis://h?ca=ca.pem", "a"), 64, []string{`"ca"`, "rediss://"}},
		{"sentinels without a master", run("--engine", "redis+sentinel://h1,h2", "a"), 64,
			[]string{"path", "name of the master"}},
		{"cluster with a database", run("--engine", "redis+cluster://h1,h2?db=1", "a"), 64,
			[]string{`"db"`, "redis://"}},
		{"memory with a path", run("--engine", "memory:x", "a"), 64, []string{`"x"`, "left out"}},
		{"folder instead of a file", run("--engine", "sqlite:"+m.home, "a"), 69, []string{m.home}},
		{"corrupt file", run("--engine", "sqlite:"+corrupt, "a"), 69, []string{corrupt}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := m.do(c.args...).want(t, c.code)
			if !strings.HasPrefix(r.err, "leasehold: ") || strings.Count(r.err, "\n") != 1 {
				t.Errorf("stderr is not one line that begins with leasehold: %q", r.err)
			}
			for _, text := range c.says {
				if !strings.Contains(r.err, text) {
					t.Errorf("stderr does not say %q: %q", text, r.err)
				}
			}
			if r.out != "" {
				t.Errorf("the command ran: %q", r.out)
			}
		})
	}
	if r := m.do("ls", "-o", "json").want(t, 0); r.out != "[]\n" {
		t.Errorf("something was taken: %s", r.out)
	}
}

func TestSecretsAreNotEchoed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, url := range []string{
		"mysql://anna:geheim@host/db",
		"anna:geheim@host",
		"geheim@host",
		"MySQL://anna:geheim@host",
		"sqlite://anna:geheim@host/x.db",
		"sqlite:x.db?password=geheim",
		"sqlite:x.db?%zzgeheim",
		"memory:?password=geheim",
		"memory://anna:geheim@host",
		"redis:anna:geheim@host",
		"redis://anna:geheim",
		"redis://anna:geheim%zz@host",
		"redis://anna:geheim/x@host",
		"redis://anna:geheim#x@host",
		"redis://anna:geheim@host?fast=geheim",
		"redis://host?password=geheim",
		"redis://anna:geheim@host,host",
		"redis+sentinel://anna:geheim@host?sentinel_password=geheim",
		"rediss+cluster://anna:geheim@host/3",
		"redis+more://anna:geheim@host",
	} {
		r := m.do("ls", "--engine", url).want(t, 64)
		if strings.Contains(r.err, "geheim") || strings.Contains(r.err, "anna") {
			t.Errorf("%s: %s", url, r.err)
		}
	}
}

// A URL, or part of it, may be given where something else belongs, or may contain something that no engine expects.
func TestSecretsInTheWrongPlaceAreNotEchoed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const url, name = "redis://anna:geheim@127.0.0.1:1/0", "orders"
	for _, words := range [][]string{
		{url}, {"anna:geheim@host"}, {"lock", url}, {"ls", url}, {"ls", "--limit", url}, {"ls", "--limit=" + url},
		{"ls", "--after", url}, {"ls", "--kind", url},
		{"ls", "--match", url + "[z"}, {"ls", "-o", url}, {"ls", "--" + url}, {"ls", "--engin=" + url},
		{"ls", "--limit=anna:geheim@host"}, {"ls", "-x" + url},
		{"inspect", url}, {"inspect", name, url}, {"check", url}, {"check", name, "anna:geheim@host"}, {"watch", url},
		{"watch", "--prefix", url, url}, {"watch", "--interval", url},
		{"wait", url}, {"release", url}, {"release", "--force", "--yes", url}, {"demo", url}, {"demo", "--seed", url},
		{"completion", url}, {"help", url},
		{"run", url}, {"run", url, "--", "true"}, {"run", name, "--", url}, {"run", "--ttl", url, name, "--", "true"},
		{"run", "--on-lost=" + url, name, "--", "true"},
		{"run", "--slots", url, name, "--", "true"}, {"exporter", "--listen", url}, {"version", url},
		{"doctor", "--ttl", url}, {"leaks", url}, {"audit", "--limit", url}, {"runs", url},
		{"run", "--once", url, "--every", "1s", name, "--", "true"}, {"run", "--schedule", url, name, "--", "true"},
		{"run", "--zone", url, "--schedule", "@daily", name, "--", "true"},
		{"ls", "--limit", "redis://anna:ge heim@h"}, {"ls", "--limit", "redis://anna:ge\"\nheim@h"},
		{"ls", "--limit", "redis://anna:ge%20heim@h"},
		{"ls", "--limit", "redis+sentinel://h/m?sentinel_password=geheim"},
		{"--engine", "sqlite:anna:geheim@host/x", "ls"}, {"--engine", "sqlite:/no/anna:geheim@host/x", "ls"},
		{"--engine", "SQLITE://anna:geheim@host/x", "ls"},
		{"ls", "-o" + url}, {"run", "-n" + url, name, "--", "true"}, {"ls", "-pgeheim"}, {"ls", "-np:anna:geheim@host"},
		{"ls", "-ohost=h user=x password=geheim"}, {"ls", "--redis://anna:ge=heim@host"},
		{"ls", "--limit", "host=h password=geheim user=anna"}, {"password=geheim"}, {"ls", "--limit=PWD=geheim"},
		{"ls", "--limit", "https://h?token=geheim"},
		{"--engine", "@" + url, "ls"}, {"--engine", "@/no/" + url, "ls"}, {"--engine", "sqlite:" + url, "ls"},
		{"--engine", "postgres://anna:1/geheim@127.0.0.1/db", "ls"},
		{"--engine", "host=h user=x password=geheim", "ls"},
		{"--engine", "jdbc:postgresql://h/db?user=anna&password=geheim", "ls"},
		{"--engine", "redlock://:geheim@127.0.0.1:1,:geheim@127.0.0.1:2", "ls"},
		{"--engine", "redisson://anna:1/geheim@127.0.0.1:1", "ls"},
		{"check", "postgres://h/db?user=anna&password=geheim"},
		{"check", "-o", "json", "jdbc:postgresql://h/db?user=anna&password=geheim"},
		{"inspect", "-o", "json", "anna:geheim@h:6379"}, {"run", "anna:geheim@[::1]:6379/0", "--", "true"},
		{"run", "host=h user=x password=geheim", "--", "true"}, {"run", "https://anna:geheim@h/x", "--", "true"},
		{"wait", "@" + url}, {"release", "--force", "--yes", "sqlite:" + url},
	} {
		r := m.do(words...)
		if said := r.out + r.err; r.code == 0 && words[0] != "help" || strings.Contains(said, "heim") ||
			strings.Contains(said, "anna") || said == "" {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", words, r.code, r.out, r.err)
		}
	}
	for _, name := range []string{"mail:anna@example.org", "mail:anna@example.org:7", "https://host:8080/package@v2",
		"compass=3", "git@host:anna/x", "ssh://git@host/x", "sqlite:/folder@host/x"} {
		if r := m.do("release", "--force", "--yes", name).want(t, 1); !strings.Contains(r.err, name) {
			t.Errorf("a name is not shown: %q", r.err)
		}
	}
	for _, set := range []string{
		"LEASEHOLD_ENGINE=@" + url, "LEASEHOLD_ENGINE=host=h user=x password=geheim", "LEASEHOLD_ENGINE=sqlite:" + url,
		"LEASEHOLD_ENGINE=postgres://anna:1/geheim@127.0.0.1/db", "LEASEHOLD_ENGINE=anna:geheim@host:6379",
		"LEASEHOLD_REDIS_PASSWORD_FILE=" + url, "LEASEHOLD_REDIS_PASSWORD_FILE=geheim",
		"LEASEHOLD_REDIS_SENTINEL_PASSWORD_FILE=/" + url, "LEASEHOLD_ETCD_PASSWORD_FILE=" + url,
		"LEASEHOLD_ZOOKEEPER_PASSWORD_FILE=" + url, "LEASEHOLD_REDISSON_PASSWORD_FILE=" + url,
	} {
		engine := map[string]string{"ETCD_P": "etcd://127.0.0.1:1", "ZOOKEE": "zookeeper://127.0.0.1:1",
			"REDISS": "redisson://127.0.0.1:1"}[set[10:16]]
		if engine == "" {
			engine = "redis+sentinel://127.0.0.1:1/m"
		}
		m := &machine{t: t, home: m.home, env: append(append([]string{}, m.env...), "LEASEHOLD_ENGINE="+engine, set)}
		if r := m.do("ls"); r.code != 64 && r.code != 69 || strings.Contains(r.out+r.err, "heim") ||
			strings.Contains(r.err, "anna") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", set, r.code, r.out, r.err)
		}
	}
	m.env[2] = "LEASEHOLD_ENGINE=sqlite:/no/anna:geheim@host/x"
	if r := m.do("ls").want(t, 69); strings.Contains(r.err, "geheim") || !strings.Contains(r.err, "***@host/x") {
		t.Errorf("stderr %q", r.err)
	}
	m.env[2] = "LEASEHOLD_ENGINE=sqlite:/no/such@folder/x"
	if r := m.do("ls").want(t, 69); !strings.Contains(r.err, "/no/such@folder/x") {
		t.Errorf("stderr %q", r.err)
	}
}

// Shells ask for completions while a password is typed. cobra would quote the words on standard error, and in a file.
func TestCompletionEchoesNoSecrets(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	debug := filepath.Join(m.home, "debug")
	m.env = append(m.env, "BASH_COMP_DEBUG_FILE="+debug)
	const url = "redis://anna:geheim@127.0.0.1:1/0"
	for _, words := range [][]string{{"ls", "--limit", url, ""}, {"ls", "--limit=" + url, ""}, {"ls", "--" + url, ""},
		{"--engine", url, "inspect", ""}, {url, ""}, {"ls", "--kind", "geheim", "-p", "geheim", ""}} {
		for _, command := range []string{"__complete", "__completeNoDesc"} {
			r := m.do(append([]string{command}, words...)...)
			said, err := os.ReadFile(debug)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if text := r.out + r.err + string(said); strings.Contains(text, "heim") || strings.Contains(text, "anna") {
				t.Errorf("%s %q: stdout %q, stderr %q, in the file %q", command, words, r.out, r.err, said)
			}
		}
	}
}

func TestConfigFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		code       int
		says       string
	}{
		{"engine", "# where\nengine = \"sqlite:fromfile.db\"\n", 0, ""},
		{"empty", "", 0, ""},
		{"unknown key", "engine = \"memory:\"\n\nslots = 3\n", 78,
			`line 3: unknown key "slots": the keys are engine, ttl, `},
		{"unknown table", "\n[engines]\nredis = 1\n", 78, `line 2: unknown key "engines"`},
		{"a URL as a key", "\n\"redis://anna:geheim@host\" = 1\n", 78,
			"line 2: a key that is not known: the keys are "},
		{"a URL of an unknown key", "\nurl = \"redis://anna:geheim@host\"\n", 78, `line 2: unknown key "url"`},
		{"a password as a key", "gehe1m = 1\n", 78, "line 1: a key that is not known"},
		{"no text", "engine = 3\n", 78, "line 1: engine is written in another form: it must be as in engine = "},
		{"no TOML, and a secret", "\nengine = redis://anna:geheim@host\n", 78, "line 2: is not TOML"},
		{"bad URL", "\nengine = \"nosuch:\"\n", 78, `config.toml, line 2: engine URL: scheme "nosuch" is not allowed`},
		{"bad ttl", "engine = \"memory:\"\nttl = \"gehe1m\"\n", 78,
			"line 2: this value of ttl is not allowed: it must be a duration"},
		{"ttl too short", "ttl = 0.01\n", 78, "line 1: this value of ttl is not allowed: it must be 100ms to 24h"},
		{"no duration", "wait = true\n", 78,
			"line 1: wait is written in another form: it must be as in wait = \"30s\""},
		{"bad choice", "on_lost = \"gehe1m\"\n", 78,
			"line 1: this value of on_lost is not allowed: it must be term or"},
		{"no waiters", "max_waiters = 0\n", 78, "line 1: this value of max_waiters is not allowed: it must be 1 to"},
		{"no switch", "quiet = \"yes\"\n", 78,
			"line 1: quiet is written in another form: it must be as in quiet = true"},
		{"bad label", "label = \"a\\nb\"\n", 78, "line 1: the label is not allowed"},
		{"a label with a password", "label = \"redis://anna:geheim@host\"\n", 78, "line 1: the label looks like"},
		{"kill_after too long", "ttl = \"30s\"\nkill_after = \"11s\"\n", 78,
			"line 2: kill_after 11s is not allowed: it must be at most 10s, a third of the ttl of 30s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.noEngine()
			folder := filepath.Join(m.home, ".config", "leasehold")
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "config.toml"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r := m.do("run", "a", "--", "true").want(t, c.code)
			if c.code != 0 && (!strings.Contains(r.err, c.says) || strings.Contains(r.err, "gehe")) {
				t.Errorf("stderr %q", r.err)
			}
			_, err := os.Stat(filepath.Join(m.home, "fromfile.db"))
			if used := err == nil; used != (c.name == "engine") {
				t.Errorf("the engine of the file was used: %v", used)
			}
		})
	}
}

// Only regular files of limited size are read: a pipe might never be written to, and a device need not end.
func TestConfigFileIsASmallRegularFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		put  func(path string) error
		says string
	}{
		"pipe":   {func(path string) error { return unix.Mkfifo(path, 0o600) }, "is no regular file"},
		"folder": {func(path string) error { return os.Mkdir(path, 0o700) }, "is no regular file"},
		"device": {func(path string) error { return os.Symlink("/dev/zero", path) }, "is no regular file"},
		"long": {func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("#\n"), 1<<19+1), 0o600) },
			"larger than 1 MiB"},
		"longest": {func(path string) error {
			return os.WriteFile(path, append([]byte("engine = \"nosuch:\"\n"), bytes.Repeat([]byte("#"), 1<<20-19)...),
				0o600)
		}, `"nosuch"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.noEngine()
			folder := filepath.Join(m.home, ".config", "leasehold")
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := c.put(filepath.Join(folder, "config.toml")); err != nil {
				t.Fatal(err)
			}
			if r := m.start("ls").wait().want(t, 78); !strings.Contains(r.err, c.says) {
				t.Errorf("stderr does not say %q: %q", c.says, r.err)
			}
		})
	}
}

// Whoever can write the config file decides where locks are kept, and where a password is sent. So it is used only if
// its owner is this user or root.
func TestConfigFileThatOthersCouldWriteIsNotObeyed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(folder, file string) error
		says    string
	}{
		"own": {func(_, file string) error { return os.Chmod(file, 0o644) }, `"nosuch"`},
		"file for all": {func(_, file string) error { return os.Chmod(file, 0o666) },
			"every user of the machine may write the file"},
		"folder for all": {func(folder, _ string) error { return os.Chmod(folder, 0o777) },
			"every user of the machine may write the folder"},
		"file for a group": {func(_,
			file string) error {
			return errors.Join(os.Chown(file, -1, 4711), os.Chmod(file, 0o664))
		},
			"the group 4711 may write the file"},
		"of a stranger": {func(_, file string) error { return os.Chown(file, 65534, 0) },
			"belongs to the user 65534"},
		"folder of another": {func(folder, _ string) error { return os.Chown(folder, 65534, 0) },
			"belongs to the user 65534"},
		"link": {func(folder, file string) error { // as people have it who keep such files in one folder
			return errors.Join(os.Rename(file, folder+"/b"), os.Symlink("b", file))
		}, `"nosuch"`},
		"link to what all may write": {func(folder, file string) error {
			return errors.Join(os.Chmod(file, 0o666), os.Rename(file, folder+"/b"), os.Symlink("b", file))
		}, "every user of the machine may write the file"},
	} {
		if os.Getuid() != 0 && strings.Contains(c.says, "4711") ||
			strings.Contains(c.says, "65534") && os.Getuid() != 0 {
			continue // only root can change the owner of a file
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.noEngine()
			folder := filepath.Join(m.home, ".config", "leasehold")
			file := filepath.Join(folder, "config.toml")
			if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(file, []byte(`engine = "nosuch:"`), 0o600),
				c.prepare(folder, file)); err != nil {
				t.Fatal(err)
			}
			if r := m.do("ls").want(t, 78); !strings.Contains(r.err, c.says) {
				t.Errorf("stderr does not say %q: %q", c.says, r.err)
			}
		})
	}
}

func TestFlagBeatsEnvironmentBeatsFile(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "XDG_CONFIG_HOME="+filepath.Join(m.home, "xdg"))
	folder := filepath.Join(m.home, "xdg", "leasehold")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "config.toml"), []byte(`engine = "fromfile:"`), 0o600); err != nil {
		t.Fatal(err)
	}
	m.env[2] = "LEASEHOLD_ENGINE=fromenvironment:"
	for _, c := range []struct {
		name string
		args []string
	}{
		{"fromflag", []string{"--engine", "fromflag:", "ls"}},
		{"fromenvironment", []string{"ls"}},
	} {
		if r := m.do(c.args...).want(t, 64); !strings.Contains(r.err, `"`+c.name+`"`) {
			t.Errorf("want %s: %s", c.name, r.err)
		}
	}
	m.noEngine()
	if r := m.do("ls").want(t, 78); !strings.Contains(r.err, `"fromfile"`) {
		t.Errorf("want fromfile: %s", r.err)
	}
}

func TestDefaultEngineIsAFileOfTheUser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, set, folder string }{
		{"home", "", ".local/state/leasehold"},
		{"state folder", "state", "state/leasehold"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.noEngine()
			if c.set != "" {
				m.env = append(m.env, "XDG_STATE_HOME="+filepath.Join(m.home, c.set))
			}
			m.do("run", "a", "--", "true").want(t, 0)
			folder := filepath.Join(m.home, c.folder)
			info, err := os.Stat(folder)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o700 {
				t.Errorf("the folder has mode %v", info.Mode())
			}
			if _, err := os.Stat(filepath.Join(folder, "locks.db")); err != nil {
				t.Error(err)
			}
		})
	}
	m := newMachine(t)
	m.env = []string{"PATH=" + os.Getenv("PATH")}
	if r := m.do("ls").want(t, 64); !strings.Contains(r.err, "HOME") || !strings.Contains(r.err, "--engine") {
		t.Errorf("without a home: %s", r.err)
	}
}
