package publish

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// project makes a repository with three modules: the root, an engine that needs it and a module of the lab.
func project(t *testing.T, changes map[string]string) string {
	t.Helper()
	files := map[string]string{
		"LICENSE":        "the licence\n",
		"go.work":        "go 1.26\n\nuse (\n\t./lab/bench\n\t./redis\n\t.\n)\n",
		"go.mod":         "module " + Home + "\n\ngo 1.26\n",
		"lock.go":        "package leasehold\n",
		"redis/redis.go": "package redis\n\nimport _ \"" + Home + "\"\n",
		"redis/go.mod": "module " + Home + "/redis\n\ngo 1.26\n\nrequire " + Home + " v0.0.0\n\nreplace " + Home +
			" => ../\n",
		"redis/go.sum":       "github.com/x/y v1.0.0 h1:a=\ngithub.com/x/y v1.0.0/go.mod h1:b=\n",
		"lab/bench/bench.go": "package bench\n",
		"lab/bench/go.mod": "module " + Home + "/lab/bench\n\ngo 1.26\n\nrequire (\n\t" + Home + " v0.0.0\n\t" + Home +
			"/redis v0.0.0\n)\n\nreplace (\n\t" + Home + " => ../..\n\t" + Home + "/redis => ../../redis\n)\n",
	}
	for name, text := range changes {
		files[name] = text
	}
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "all"},
	} {
		c := exec.Command("git", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	return dir
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPublishedModulesNeedNoReplace(t *testing.T) {
	t.Parallel()
	root, proxy := project(t, nil), t.TempDir()
	modules, err := Prepare(root, proxy, "v0.2.0-rc.1")
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, m := range modules {
		if m.Public() {
			tags = append(tags, m.Tag("v0.2.0-rc.1"))
		}
	}
	if want := []string{"v0.2.0-rc.1", "redis/v0.2.0-rc.1"}; !reflect.DeepEqual(tags, want) {
		t.Errorf("tags %q, want %q: each after those that it requires", tags, want)
	}
	want := "module " + Home + "/redis\n\ngo 1.26\n\nrequire " + Home + " v0.2.0-rc.1\n"
	if got := read(t, root, "redis/go.mod"); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("the published go.mod is %s", got)
	}
	if got := read(t, proxy, Home, "redis/@v/v0.2.0-rc.1.mod"); got != read(t, root, "redis/go.mod") {
		t.Errorf("the proxy has the go.mod %s", got)
	}
	sums := strings.Split(read(t, root, "redis/go.sum"), "\n")
	if len(sums) != 5 || !strings.HasPrefix(sums[0], Home+" v0.2.0-rc.1 h1:") ||
		!strings.HasPrefix(sums[1], Home+" v0.2.0-rc.1/go.mod h1:") ||
		!strings.HasPrefix(sums[2], "github.com/x/y v1.0.0 h1:") {
		t.Errorf("the published go.sum is %q", sums)
	}
	lab := read(t, root, "lab/bench/go.mod")
	if !strings.Contains(lab, Home+"/redis v0.2.0-rc.1\n") || !strings.Contains(lab, "=> ../../redis\n") {
		t.Errorf("the go.mod of the lab is %s", lab)
	}
}

// The go command reads what Prepare has written: the sums fit, and the module has the licence of the repository.
func TestTheGoCommandGetsThePublishedModules(t *testing.T) {
	t.Parallel()
	root, proxy, user := project(t, map[string]string{"redis/go.sum": ""}), t.TempDir(), t.TempDir()
	if _, err := Prepare(root, proxy, "v0.2.0"); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "mod", "download", "-json", Home+"/redis@v0.2.0", Home+"@v0.2.0")
	c.Dir = user
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+user, "GOPROXY=file://"+proxy,
		"GONOSUMDB="+Home+","+Home+"/*")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sums := strings.Fields(read(t, root, "redis/go.sum"))
	if !strings.Contains(string(out), `"Sum": "`+sums[2]+`"`) ||
		!strings.Contains(string(out), `"GoModSum": "`+sums[5]+`"`) {
		t.Errorf("the go command says %s, and go.sum has %q", out, sums)
	}
	if text := read(t, user, Home, "redis@v0.2.0/LICENSE"); text != "the licence\n" {
		t.Errorf("the licence is %q", text)
	}
	if _, err := os.Stat(filepath.Join(user, Home+"@v0.2.0/redis")); !os.IsNotExist(err) {
		t.Errorf("the root module has the folder of another: %v", err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version string
		changes map[string]string
		says    string
	}{
		"a version that is none":  {"0.2.0", nil, "is no version"},
		"a short version":         {"v0.2", nil, "is no version"},
		"a version with metadata": {"v0.2.0+x", nil, "is no version"},
		"a second major version":  {"v2.0.0", nil, "/v2"},
		"another replace": {"v0.2.0", map[string]string{"redis/go.mod": "module " + Home +
			"/redis\n\nreplace github.com/x/y => github.com/z/y v1.0.0\n"}, "replaces github.com/x/y"},
		"a wrong path": {"v0.2.0", map[string]string{"redis/go.mod": "module github.com/x/redis\n"}, "it must be"},
		"a circle": {"v0.2.0", map[string]string{
			"go.mod": "module " + Home + "\n\nrequire " + Home + "/redis v0.0.0\n"}, "circle"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Prepare(project(t, c.changes), t.TempDir(), c.version); err == nil ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}
