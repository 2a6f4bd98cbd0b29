package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// plainUser returns a function that runs a script as a user other than root, who may read all processes: as the current
// user, or as nobody. The command is a copy that this user may run.
func plainUser(t *testing.T, m *machine) func(script string) result {
	t.Helper()
	sh, _ := plainUserOf(t, m, binary)
	return sh
}

// plainUserOf is plainUser for another program than the command. It also returns the home folder of the user, which
// only the current one may write.
func plainUserOf(t *testing.T, m *machine, program string) (sh func(script string) result, home string) {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "leasehold") // the folder of a test is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program = filepath.Join(dir, "leasehold")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return func(script string) result {
		t.Helper()
		c := exec.Command("sh", "-c", script)
		c.Env, c.Dir = append(m.env, "HOME="+dir, "LH="+program), dir
		if os.Getuid() == 0 {
			const nobody = 65534
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		return finish(t, c)
	}, dir
}

// Other processes of the same user, including CMD, cannot read the command's memory or environment, and it leaves no
// core dump. CMD itself runs as it would without the command.
func TestMemoryIsPrivate(t *testing.T) {
	t.Parallel()
	m := newMachine(t).use("memory:")
	m.env = append(m.env, "LEASEHOLD_REDIS_PASSWORD="+geheim)
	sh := plainUser(t, m)
	const limits = `ulimit -c; ulimit -Hc; ` +
		`cat /proc/self/environ >/dev/null && cat /proc/$$/environ >/dev/null && echo readable`
	alone := sh(limits).want(t, 0)
	if under := sh(`"$LH" run a -- sh -c '`+limits+`'`).want(t, 0); under.out != alone.out ||
		!strings.Contains(under.out, "readable") {
		t.Errorf("CMD finds %q, and without the command %q", under.out, alone.out)
	}
	for _, file := range []string{"environ", "maps", "mem", "auxv"} {
		r := sh(`"$LH" run a -- sh -c 'head -c 100000 /proc/$PPID/` + file + `'`)
		if r.code == 0 || strings.Contains(r.out, geheim) || !strings.Contains(r.err, "Permission denied") {
			t.Errorf("CMD reads %s of the command: %d %.200q %q", file, r.code, r.out, r.err)
		}
	}
}
