//go:build unix

package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// typed is a password that is given on the command line. It differs from that of other tests, which search the process
// list for theirs.
const typed = "ty@heim/%?#"

// withPasswords starts a server with a password, and returns its URL with the password and without.
func withPasswords(t *testing.T) (m *machine, with, without string) {
	t.Helper()
	s := redisserver.ForTest(t, redisserver.Config{Password: typed})
	rest := s.Addr() + "?" + unguarded
	return newMachine(t), "redis://" + url.UserPassword("", typed).String() + "@" + rest, "redis://" + rest
}

// CMD does not get passwords of the engine, wherever this process has them from. It gets everything else.
func TestPasswordsOfTheEngineAreKeptFromThePrograms(t *testing.T) {
	t.Parallel()
	m, with, without := withPasswords(t)
	file := filepath.Join(m.home, "password")
	if err := os.WriteFile(file, []byte(typed+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url  string
		env  []string
		args []string
		kept string
	}{
		"in the URL": {with, []string{"PGPASSWORD=of-others"}, nil, "LEASEHOLD_ENGINE"},
		"in a variable": {without, []string{"LEASEHOLD_REDIS_PASSWORD=" + typed}, nil,
			"LEASEHOLD_REDIS_PASSWORD"},
		"of another engine": {with, []string{"LEASEHOLD_ETCD_PASSWORD=" + typed}, nil,
			"LEASEHOLD_ENGINE LEASEHOLD_ETCD_PASSWORD"},
		"in a file":           {without, []string{"LEASEHOLD_REDIS_PASSWORD_FILE=" + file}, nil, ""},
		"on the command line": {without, nil, []string{"--engine", with}, ""},
		"where a file belongs": {with, []string{"LEASEHOLD_ETCD_PASSWORD_FILE=redis://anna:" + typed + "@h"}, nil,
			"LEASEHOLD_ENGINE LEASEHOLD_ETCD_PASSWORD_FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{t: t, home: m.home, env: append(append([]string{}, m.env...), c.env...)}
			m.use(c.url)
			r := m.do(append(append([]string{"run"}, c.args...), "a", "--", "env")...).want(t, 0)
			kept := ""
			for line := range strings.Lines(r.out) {
				if text, is := strings.CutPrefix(line, "LEASEHOLD_WITHHELD="); is {
					kept = strings.TrimSpace(text)
				}
			}
			if strings.Contains(r.out, typed) || kept != c.kept {
				t.Errorf("CMD finds, without %q:\n%s", kept, r.out)
			}
			for _, set := range c.env {
				if !strings.Contains(set, typed) && !strings.Contains(r.out, set+"\n") {
					t.Errorf("CMD does not find %s", set)
				}
			}
			if !strings.Contains(r.out, "LEASEHOLD_ENGINE="+without+"\n") {
				t.Errorf("CMD does not find where locks are:\n%s", r.out)
			}
			r = m.do(append(append([]string{"run", "--pass-engine"}, c.args...), "a", "--", "env")...).want(t, 0)
			for _, set := range append(c.env,
				"LEASEHOLD_ENGINE="+map[bool]string{true: with, false: c.url}[len(c.args) > 0]) {
				if !strings.Contains(r.out, set+"\n") || strings.Contains(r.out, "WITHHELD") {
					t.Errorf("with --pass-engine CMD does not find %s:\n%s", set, r.out)
				}
			}
		})
	}
}

// LEASEHOLD_ENGINE is ignored if there is --engine, but may contain a password all the same. A nested run must not use
// it as its engine.
func TestAnEngineThatIsNoneIsKeptFromThePrograms(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, none := range []string{"host=h password=geheim", "geheim", "anna:geheim@h", "@redis://anna:geheim@h",
		"sqlite:redis://anna:geheim@h", "jdbc:postgresql://h/d?password=geheim"} {
		m.use(none)
		r := m.do("--engine", "sqlite:"+m.db, "run", "a", "--", "sh", "-c", "env; "+binary+" ls; true").want(t, 0)
		if strings.Contains(r.out+r.err, "geheim") || !strings.Contains(r.out, "LEASEHOLD_ENGINE=withheld:\n") ||
			!strings.Contains(r.out, "LEASEHOLD_WITHHELD=LEASEHOLD_ENGINE\n") ||
			!strings.Contains(r.err, "--pass-engine") {
			t.Errorf("%s: CMD finds\n%sand says %s", none, r.out, r.err)
		}
	}
}

// A nested run uses the same engine, or fails and says why.
func TestRunInsideOfARunWithAPassword(t *testing.T) {
	t.Parallel()
	m, with, without := withPasswords(t)
	m.use(with)
	inner := []string{"--", binary, "run", "b", "--", "echo", "ran"}
	if r := m.do(append([]string{"run", "a"}, inner...)...).want(t, 69).wantNoSecret(t); r.out != "" ||
		!strings.Contains(r.err, "--pass-engine") {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	if r := m.do(append([]string{"run", "--pass-engine", "a"}, inner...)...).want(t, 0); r.out != "ran\n" {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	if r := m.do("run", "--pass-engine", "a", "--", binary, "run", "a", "--", "echo", "ran").want(t,
		75); !strings.Contains(r.err, "around this one") {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	m.use(without)
	if r := m.do("ls").want(t, 69); strings.Contains(r.err, "--pass-engine") {
		t.Errorf("stderr %q", r.err)
	}
}

// The URL can come from places that process lists do not show.
func TestEngineIsReadFromAFileOrStandardInput(t *testing.T) {
	t.Parallel()
	m, with, _ := withPasswords(t)
	file, pipe := filepath.Join(m.home, "engine"), filepath.Join(m.home, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte(with+"\n"), 0o600), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	m.do("--engine", "@"+file, "run", "a", "--", "true").want(t, 0)
	m.use("@"+file).do("run", "a", "--", "true").want(t, 0)
	p := m.start("--engine", "-", "run", "a", "--", "cat")
	if _, err := p.in.WriteString(with + "\nfor CMD\n"); err != nil {
		t.Fatal(err)
	}
	if got := p.line(); got != "for CMD" {
		t.Errorf("CMD read %q", got)
	}
	p.in.Close()
	p.wait().want(t, 0)
	p = m.start("--engine", "-", "run", "a", "--", "cat")
	p.in.Close()
	p.wait().want(t, 64)
	for path, says := range map[string]string{file + "x": "does not exist", m.home: "is a directory"} {
		if r := m.do("--engine", "@"+path, "ls").want(t, 64); !strings.Contains(r.err, says) ||
			!strings.Contains(r.err, "@") {
			t.Errorf("stderr %q", r.err)
		}
	}
	p = m.start("--engine", "@"+pipe, "run", "a", "--", "true") // waits for somebody to write it
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.signal(unix.SIGTERM)
	p.wait().want(t, 128+15)
	w.Close()
}

// Whoever can write the file decides where locks are kept, or makes this process log in elsewhere. A file that is
// handed over open is not checked: whoever started the command has opened it.
func TestEngineIsNotReadFromAFileThatOthersCouldWrite(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	file := filepath.Join(m.home, "engine")
	for mode, says := range map[os.FileMode]string{0o600: "", 0o444: "",
		0o666: "every user of the machine may write the file"} {
		if err := errors.Join(os.WriteFile(file, []byte("sqlite:"+m.db+"\n"), 0o600),
			os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
		code := map[bool]int{true: 0, false: 64}[says == ""]
		m.use("sqlite:/nowhere/x")
		for _, r := range []result{m.do("--engine", "@"+file, "ls"), m.use("@" + file).do("ls")} {
			if r.want(t, code); !strings.Contains(r.err, says) ||
				code != 0 && (!strings.Contains(r.err, "chmod o-w") || !strings.Contains(r.err, "/dev/fd/3")) {
				t.Errorf("mode %o: %q does not say %q", mode, r.err, says)
			}
		}
		for _, script := range []string{`"$0" ls --engine @/dev/fd/3 3<"$1"`, `"$0" ls --engine @/dev/stdin <"$1"`,
			`"$0" ls --engine - <"$1"`, `cat "$1" | "$0" ls --engine @/dev/fd/0`} {
			c := m.command()
			c.Path, c.Args = "/bin/sh", []string{"sh", "-c", script, binary, file}
			finish(t, c).want(t, 0)
		}
	}
	if err := os.WriteFile(file, []byte("geheim\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.use("redis://127.0.0.1:1")
	for mode, code := range map[os.FileMode]int{0o600: 69, 0o666: 69} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		for _, variable := range []string{"LEASEHOLD_REDIS_PASSWORD_FILE"} {
			m := &machine{t: t, home: m.home, env: append(append([]string{}, m.env...), variable+"="+file)}
			if r := m.do("ls").want(t, code); strings.Contains(r.err, variable) != (mode == 0o666) ||
				strings.Contains(r.err, "geheim") {
				t.Errorf("mode %o: %q", mode, r.err)
			}
		}
	}
}

// checkReadable expects doctor to report a file with a secret when every user of the machine may read it, and not
// otherwise.
func checkReadable(t *testing.T, m *machine, file string) {
	t.Helper()
	for folder := filepath.Dir(file); folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if info, err := os.Stat(folder); err != nil || info.Mode()&0o001 == 0 && os.Chmod(folder, 0o711) != nil {
			t.Fatalf("%s: %v", folder, err)
		}
	}
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o644: true} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		r := m.do("doctor", "-o", "json")
		if strings.Contains(r.out, `"secret-readable"`) != want || want && !strings.Contains(r.out, file) ||
			r.code == 64 || r.code == 69 {
			t.Errorf("%s, mode %o: %d, %s %s", file, mode, r.code, r.out, r.err)
		}
	}
}

// So it does with the files of pgx, and with the keys of certificates.
func TestDoctorReportsFilesOfEnginesThatAllCanRead(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s := postgresWithPasswords(t, postgresserver.Config{TCP: true})
		psql(t, s, "CREATE ROLE anna LOGIN; GRANT CREATE ON DATABASE postgres TO anna")
		setPassword(t, s, "anna")
		m := newMachine(t).use("postgres://anna@" + s.Addr() + "/postgres?sslmode=disable")
		for file, variable := range map[string]string{".pgpass": "", "f": "PGPASSFILE=" + filepath.Join(m.home, "f")} {
			file = filepath.Join(m.home, file)
			if err := os.WriteFile(file, []byte("*:*:*:anna:"+geheim+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			m := &machine{t: t, home: m.home, env: append(slices.Clone(m.env), variable)}
			checkReadable(t, m, file)
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := startWithTLS(t)
		checkReadable(t, newMachine(t).use(s.url), filepath.Join(s.dir, "client.key"))
	})
}

// Only doctor reports a password that every user of the machine can read: secrets in containers are often like that.
func TestDoctorReportsPasswordsThatAllCanRead(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	config := filepath.Join(m.home, ".config", "leasehold", "config.toml")
	file := filepath.Join(m.home, "password")
	if err := errors.Join(os.Chmod(filepath.Dir(m.home), 0o711), os.Chmod(m.home, 0o711),
		os.MkdirAll(filepath.Dir(config), 0o711), os.WriteFile(file, []byte("geheim\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	s := redisserver.ForTest(t, redisserver.Config{Password: "geheim"})
	url := "redis://:geheim@" + s.Addr() + "?" + unguarded
	for name, c := range map[string]struct {
		engine, password string // of the environment
		file, text       string
	}{
		"the engine":      {"@" + file, "", file, url},
		"the password":    {"redis://" + s.Addr() + "?" + unguarded, file, file, "geheim"},
		"the config file": {"", "", config, "engine = \"" + url + "\""},
	} {
		for mode, want := range map[os.FileMode]bool{0o600: false, 0o644: true} {
			if err := errors.Join(os.WriteFile(c.file, []byte(c.text), 0o600), os.Chmod(c.file, mode)); err != nil {
				t.Fatal(err)
			}
			m := &machine{t: t, home: m.home,
				env: append(append([]string{}, m.env...), "LEASEHOLD_ENGINE="+c.engine,
					"LEASEHOLD_REDIS_PASSWORD_FILE="+c.password)}
			if c.engine == "" {
				m.noEngine()
			}
			if r := m.do("doctor", "-o", "json"); strings.Contains(r.out, `"secret-readable"`) != want ||
				want && !strings.Contains(r.out, c.file) || r.code == 64 || r.code == 69 ||
				strings.Contains(r.out, "geheim") {
				t.Errorf("%s, mode %o: %s %s", name, mode, r.out, r.err)
			}
		}
	}
}
