//go:build unix

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// maxStrippedSize is the largest size in bytes of the command that "make build" builds on linux/amd64.
const maxStrippedSize = 35_000_000

// packagesOf are packages that an engine brings in, ours and others', and that nothing else does. The tag that leaves
// the engine out is "no_" and its name.
var packagesOf = map[string]*regexp.Regexp{
	"sqlite":   regexp.MustCompile(`^(github\.com/leasehold-go/leasehold/sqlite|modernc\.org)(/|$)`),
	"redis":    regexp.MustCompile(`^(github\.com/leasehold-go/leasehold/redis|github\.com/redis)(/|$)`),
	"postgres": regexp.MustCompile(`^(github\.com/leasehold-go/leasehold/postgres|github\.com/jackc)(/|$)`),
	"etcd": regexp.MustCompile(
		`^(github\.com/leasehold-go/leasehold/etcd|go\.etcd\.io|google\.golang\.org/grpc|go\.uber\.org/zap)(/|$)`),
	"zookeeper": regexp.MustCompile(`^(github\.com/leasehold-go/leasehold/zookeeper|github\.com/go-zookeeper)(/|$)`),
}

// goCommand runs the go command with flags of its own, whatever the test was built with, and returns what it prints.
func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// buildOf builds the command as "make build" does, with more build tags.
func buildOf(t *testing.T, tags string) string {
	t.Helper()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`\tgo build -tags (\S+),\$\(TAGS\) -ldflags "(.*)" -o`).FindSubmatch(text)
	if line == nil {
		t.Fatal(`the Makefile builds the command in another way: change this test together with it`)
	}
	path := filepath.Join(t.TempDir(), "leasehold")
	goCommand(t, "build", "-tags", string(line[1])+","+tags, "-ldflags", string(line[2]), "-o", path, ".")
	return path
}

func TestTheCommandIsSmall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the limit is for linux/amd64")
	}
	file, err := os.Stat(buildOf(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if file.Size() > maxStrippedSize {
		t.Errorf("the command has %d bytes, want at most %d: has a package been added that keeps methods alive, "+
			"such as text/template?", file.Size(), maxStrippedSize)
	}
}

// Each engine can be built alone, beside memory. Such a build has no package of the others.
func TestBuildsWithChosenEngines(t *testing.T) {
	t.Parallel()
	builds := map[string][]string{"no_servers": {"sqlite"}} // the engines that such a build has
	for chosen := range packagesOf {
		builds[leavingOut(chosen)] = []string{chosen}
		builds["no_"+chosen] = nil
		for engine := range packagesOf {
			if engine != chosen {
				builds["no_"+chosen] = append(builds["no_"+chosen], engine)
			}
		}
	}
	for tags, chosen := range builds {
		t.Run(tags, func(t *testing.T) {
			t.Parallel()
			if len(chosen) == 1 {
				goCommand(t, "build", "-tags", tags, "./internal/cli")
			}
			has := strings.Fields(goCommand(t, "list", "-deps", "-tags", tags, "."))
			for engine, packages := range packagesOf {
				at := slices.IndexFunc(has, packages.MatchString)
				switch want := slices.Contains(chosen, engine); {
				case want && at < 0:
					t.Errorf("it has nothing of %s that matches %s", engine, packages)
				case !want && at >= 0:
					t.Errorf("it has %s, a package of %s", has[at], engine)
				}
			}
		})
	}
}

// leavingOut returns the tags that leave out all engines but one.
func leavingOut(chosen string) string {
	var tags []string
	for _, engine := range slices.Sorted(maps.Keys(packagesOf)) {
		if engine != chosen {
			tags = append(tags, "no_"+engine)
		}
	}
	return strings.Join(tags, ",")
}

// A build says that it lacks an engine, and what it has.
func TestAnEngineThatIsLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	file := buildOf(t, "no_servers")
	for url, want := range map[string]string{
		"redis://h": "redis", "rediss+cluster://h": "redis", "redlock://a,b,c": "redlock",
		"redisson+unix:///x": "redisson", "postgresql://h/d": "postgres", "etcds://anna:geheim@h": "etcd",
		"zookeeper://h": "zookeeper",
	} {
		r := m.doWith(file, "run", "--engine", url, "a", "--", "true").want(t, 64)
		tag := "no_" + want
		if strings.HasPrefix(want, "red") {
			tag = "no_redis"
		}
		if text := "leasehold: this build has no engine " + want + ": use memory: or sqlite:PATH, " +
			"or build the command without the tags " + tag + " and no_servers\n"; r.err != text {
			t.Errorf("got %q, want %q", r.err, text)
		}
	}
	m.doWith(file, "run", "a", "--", "true").want(t, 0)
	m.doWith(file, "demo", "--real", "a").want(t, 64)

	// The default is a file.
	m.env = slices.DeleteFunc(m.env, func(set string) bool { return strings.HasPrefix(set, "LEASEHOLD_ENGINE=") })
	const want = "leasehold: this build has no engine sqlite: use memory: or zookeeper://HOST,..., " +
		"or build the command without the tag no_sqlite\n"
	if r := m.doWith(buildOf(t, leavingOut("zookeeper")), "ls").want(t, 64); r.err != want {
		t.Errorf("got %q, want %q", r.err, want)
	}
}

// doWith runs another build of the command to its end.
func (m *machine) doWith(command string, args ...string) result {
	m.t.Helper()
	c := m.command(args...)
	c.Path, c.Args[0] = command, command
	return finish(m.t, c)
}
