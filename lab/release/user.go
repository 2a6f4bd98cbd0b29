package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/leasehold-go/leasehold/lab/release/publish"
)

// user is somebody who has Go and nothing else.
type user struct {
	dir, version string
	environment  []string
}

// newUser makes a user who gets our modules from a proxy, and those of others from this machine's module cache, or else
// from where this machine gets them.
func newUser(temporary, proxy, version string) (*user, error) {
	u := &user{dir: filepath.Join(temporary, "user"), version: version}
	usual, err := output("", nil, "go", "env", "GOPROXY", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(usual), "\n")
	cache := filepath.Join(lines[1], "cache", "download")
	u.environment = u.env("modules", strings.Join([]string{proxy, "file://" + cache, lines[0]}, ","))
	return u, os.MkdirAll(u.dir, 0o755)
}

// env returns the variables of a user with a module cache of that name. -trimpath is the only difference to a user who
// sets nothing: it lets the build cache be used again, and every file is compiled just so.
func (u *user) env(cache, proxy string) []string {
	return []string{
		"GOPROXY=file://" + proxy, "GONOSUMDB=" + publish.Home + "," + publish.Home + "/*",
		"GOMODCACHE=" + filepath.Join(u.dir, cache), "GOPATH=" + filepath.Join(u.dir, "gopath"),
		"GOBIN=" + filepath.Join(u.dir, "bin"), "GOWORK=off", "GOFLAGS=-trimpath", "GOTOOLCHAIN=local",
		"CGO_ENABLED=0", "HOME=" + filepath.Join(u.dir, "home"), "GOCACHE=" + buildCache(),
	}
}

// buildCache returns the folder of the build cache, which would otherwise follow HOME.
func buildCache() string {
	out, err := output("", nil, "go", "env", "GOCACHE")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// installCommand installs the command as the README says, and runs it.
func (u *user) installCommand() error {
	if err := call(u.dir, u.environment, "go", "install", publish.Home+"/cmd/leasehold@"+u.version); err != nil {
		return err
	}
	command := filepath.Join(u.dir, "bin", "leasehold")
	said, err := output(u.dir, u.environment, command, "version")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(said, "leasehold "+u.version+" ") {
		return fmt.Errorf("leasehold version says %q, and was installed as %s", said, u.version)
	}
	said, err = output(u.dir, u.environment, command, "run", "hello", "--", "sh", "-c", "echo $LEASEHOLD_NAME")
	if err != nil {
		return err
	}
	if said != "hello\n" {
		return fmt.Errorf("leasehold run says %q", said)
	}
	return nil
}

// useModule builds a program that uses a module, and runs it if it needs no server.
func (u *user) useModule(m publish.Module) error {
	program, known := programs[m.Dir]
	if !known {
		return errors.New("no program uses this module: add one to programs.go")
	}
	if program == "" {
		return nil
	}
	dir := filepath.Join(u.dir, "program", m.Dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "program.go"), []byte(program), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "init", "example.com/program"}, {"get", m.Path + "@" + u.version}} {
		if err := call(dir, u.environment, "go", args...); err != nil {
			return err
		}
	}
	if !strings.Contains(program, "func main()") {
		return call(dir, u.environment, "go", "build", ".")
	}
	said, err := output(dir, u.environment, "go", "run", ".")
	if err == nil && said != "held\n" {
		err = fmt.Errorf("the program says %q", said)
	}
	return err
}
