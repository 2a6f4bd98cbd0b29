//go:build unix

package docs

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/etcdserver"
	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// bin is the folder of the command, which TestMain builds.
var bin string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("", "leasehold"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(bin)
	c := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, "./cmd/leasehold")
	c.Dir = top
	if out, err := c.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the command does not build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// programs are those of the reader, which the examples call.
var programs = []string{"backup", "sync-orders", "nightly-report", "import-orders", "migrate", "ffmpeg", "psql", "curl",
	"systemctl", "work/deploy.sh", "work/smoke-test"}

// folders are those of a machine, which a reader's commands find below his home folder instead.
var folders = []string{"/usr/local/bin", "/etc/leasehold", "/etc/systemd/system", "/var/lib/shop"}

// reader is somebody who follows a document.
type reader struct {
	page       *testing.T // ends what is needed for several blocks
	home, work string
	env        []string
	etcd       *etcdserver.Server // once it is needed
	replaced   []string           // pairs of texts for a strings.Replacer
}

func newReader(t *testing.T) *reader {
	t.Helper()
	home := t.TempDir()
	r := &reader{page: t, home: home, work: filepath.Join(home, "work")}
	made := []string{filepath.Join(home, "bin"), filepath.Join(r.work, "bin")}
	for _, folder := range folders {
		made = append(made, home+folder)
	}
	for _, folder := range made {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range programs {
		path := filepath.Join(home, "bin", program)
		if strings.Contains(program, "/") {
			path = filepath.Join(home, program)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{"bin/leasehold": bin + "/leasehold", "deploy": absolute(t, top+"/deploy")}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(r.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.env = []string{"HOME=" + home, "TERM=xterm", "GORACE=atexit_sleep_ms=0",
		"PATH=" + strings.Join([]string{home + "/bin", bin, os.Getenv("PATH")}, ":")}
	// The caches of this machine, not those of the new home.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOFLAGS"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		r.env = append(r.env, name+"="+strings.TrimSpace(string(value)))
	}
	r.replaced = []string{"leasehold exporter", "leasehold exporter --listen 127.0.0.1:0"} // any free port
	for _, folder := range folders {
		r.replaced = append(r.replaced, folder, home+folder)
	}
	if group, err := user.LookupGroupId(fmt.Sprint(os.Getgid())); err == nil {
		r.replaced = append(r.replaced, "staff", group.Name)
	}
	return r
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// shell returns a shell that runs a script, and stops at the first command that fails. What the script takes from the
// checkout of the project runs there.
func (r *reader) shell(script string) *exec.Cmd {
	c := exec.Command("sh", "-ec", script)
	c.Dir, c.Env = r.work, r.env
	if regexp.MustCompile(`\bgo (run|install) .*\./`).MatchString(script) {
		c.Dir = top
	}
	return c
}

// inUse tells whether commands are about a lock that somebody holds: they name it, and neither take it nor wait for it.
func inUse(commands string) bool {
	return strings.Contains(commands, "deploy:shop") &&
		!regexp.MustCompile(`leasehold (run|wait) .*deploy:shop`).MatchString(commands)
}

// prepare makes ready what the commands need, and returns them with the addresses of the servers that are there.
func (r *reader) prepare(t *testing.T, commands string) (script string) {
	t.Helper()
	for word, program := range map[string]string{"etcdctl": "etcdctl", "--real": "redis-server"} {
		if strings.Contains(commands, word) {
			_, err := exec.LookPath(program)
			needed.Started(t, err, exec.ErrNotFound)
		}
	}
	if inUse(commands) {
		r.hold(t)
	}
	if strings.Contains(commands, "leasehold audit") {
		r.hold(t)
		r.do(t, "leasehold release --force --yes deploy:shop")
	}
	if strings.Contains(commands, "/var/lib/shop/locks.db") {
		r.do(t, "leasehold run --engine sqlite:"+r.home+"/var/lib/shop/locks.db job -- true")
	}
	if three := "10.0.0.1,10.0.0.2,10.0.0.3"; strings.Contains(commands, three) {
		var addresses []string
		for range 3 {
			addresses = append(addresses, redisserver.ForTest(t, redisserver.Config{}).Addr())
		}
		r.replaced = append([]string{three, strings.Join(addresses, ",")}, r.replaced...)
	}
	if one := "redis://localhost"; strings.Contains(commands, one) {
		r.replaced = append(r.replaced, one, redisserver.ForTest(t, redisserver.Config{}).URL())
	}
	if strings.Contains(commands, "etcdctl") && r.etcd == nil {
		r.etcd = etcdserver.ForTest(r.page, etcdserver.Config{Volatile: true, Args: []string{"--bcrypt-cost=4"}})
		r.env = append(r.env, "ETCDCTL_API=3", "ETCDCTL_ENDPOINTS="+r.etcd.Addr())
	}
	return strings.NewReplacer(r.replaced...).Replace(commands)
}

// do runs a command that is not in the document.
func (r *reader) do(t *testing.T, script string) {
	t.Helper()
	if out, err := r.shell(script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// hold has somebody hold the lock deploy:shop until it is taken away, or until the test ends.
func (r *reader) hold(t *testing.T) {
	t.Helper()
	c := r.shell("exec leasehold run --wait 1m deploy:shop -- sh -c 'echo held; exec cat'")
	input, err := c.StdinPipe() // cat ends with it
	if err != nil {
		t.Fatal(err)
	}
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		_ = c.Wait() // it ends in any way: released, or taken away
	})
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "held\n" {
		t.Fatalf("nobody holds the lock: %q, %v", line, err)
	}
}
