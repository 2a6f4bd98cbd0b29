package leasehold_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const home = "github.com/leasehold-go/leasehold"

// source is one Go file, as far as the rules need it.
type source struct {
	module  string // folder of its go.mod, "." for the root
	dir     string // its own folder, from the root
	test    bool
	imports []string
}

// users are the folders of modules that use the library as programs do, so they may import everything. All other
// modules are engines or observers.
var users = []string{"cmd", "lab"}

// observing are the modules of observers, which count or trace events on any engine, and their examples.
var observing = []string{"prometheus", "otel"}

// tools are what tests, benchmarks and demos use: they start servers, plant faults, and read what the project ships.
var tools = []string{
	"internal/redisserver", "internal/postgresserver", "internal/etcdserver", "internal/zookeeperserver",
	"internal/cable", "internal/needed", "internal/ports", "internal/overlay", "internal/deployfiles",
	"internal/urlfuzz", "internal/redissonwire", "internal/lateness",
}

// among are what engines have in common.
var among = []string{
	"internal/overdue", "internal/detach", "internal/engineurl", "internal/keyset", "internal/contended",
	"internal/quorumnode", "internal/exposure", "internal/ownpath", "internal/paging", "internal/batch",
	"internal/argument", "internal/peer", "internal/databytes",
}

// operators is the package of the operators' tools. It knows the errors and the kinds of the core, and calls engines
// itself.
const operators = "admin"

// features is a package that is built on the core alone.
const features = "once"

// amongDriver are the internal packages that speak of keys, outcomes, instants, listings or findings, and so know
// driver.
var amongDriver = []string{
	"internal/detach", "internal/paging", "internal/quorumnode", "internal/takelimit", "internal/timelimit",
	"internal/schedule", "internal/exposure", "internal/batch", "internal/databytes",
}

// observersShare are what observers have in common. They read the errors and events of the core.
var observersShare = []string{"internal/reason"}

// resource are the folders for the resource that a lock protects. They know nothing of locks.
var resource = []string{"fence", "redis/redisfence", "postgres/pgxfence"}

// apart are the engines of one module that know nothing of each other. What they share is internal to the module.
var apart = []string{"redis", "redis/redisson"}

// breach returns why a file must not import something, or "" if it may. Imports point inward only.
func (s source) breach(imported string) string {
	ours, standard := within(imported)
	switch {
	case standard:
		return ""
	case !ours && s.module == ".":
		return "the root module has no dependencies"
	case !ours || slices.ContainsFunc(users, func(folder string) bool { return under(s.dir, folder) }):
		return ""
	}
	to := strings.TrimPrefix(strings.TrimPrefix(imported, home), "/")
	own := s.module != "." && under(to, s.module) || s.test && to == s.dir
	observer := slices.Contains(observing, s.module)
	engine := s.module != "." && !observer || under(s.dir, "memory")
	shared := s.module + "/internal"
	switch {
	case own && !s.test && under(s.dir, shared) && !under(to, shared):
		return "what the packages of a module share knows none of them"
	case own && !s.test && slices.Contains(apart, s.dir) && !under(to, shared) && !under(to, s.dir+"/internal"):
		return "the engines of a module know nothing of each other"
	case own:
		return ""
	case slices.Contains(tools, to) && !s.test && !slices.Contains(tools, s.dir):
		return "it is a tool of tests, and of the users of the library"
	case s.test && s.module == "." && !engine && s.dir != "driver" && !under(s.dir, "internal"):
		return "" // the tests of the root and of drivertest use what they need of their module
	case s.dir == "driver":
		return "driver knows nobody"
	case under(s.dir, "driver/drivertest"):
		if to != "driver" && to != "internal/quorumnode" {
			return "drivertest knows only driver, and what redlock needs of its nodes"
		}
	case under(s.dir, "internal"):
		if !under(to, "internal") && !(to == "" && slices.Contains(observersShare, s.dir)) &&
			!(to == "driver" && slices.Contains(amongDriver, s.dir)) {
			return "internal packages know nothing further out"
		}
	case slices.Contains(resource, s.dir):
		if to != "fence" && to != "driver" && !(s.test && slices.Contains(tools, to)) {
			return "the resource's side knows driver, and that of Redis knows fence"
		}
	case s.test && under(s.dir, "redis/redlock"):
		return "" // an engine made of others: its tests simulate them, and use it through the core
	case under(s.dir, "redis/redisson/objects"):
		if !slices.Contains([]string{"", "driver", "internal/argument"}, to) && !under(to, "redis/redisson") &&
			!(s.test && slices.Contains(tools, to)) {
			return "Redisson's objects know the core, what it allows as names, and the engine below them"
		}
	case s.test && (s.dir == "redis/internal/simulator" || s.dir == "redis/redisson" && to == ""):
		return "" // they run the engine through the core, as programs do
	case observer:
		if to != "" && to != "driver" && to != "fence" && !slices.Contains(observersShare, to) && !s.example() &&
			!s.test {
			return "an observer knows the core, driver, the resource's side and what observers have in common, " +
				"and no engine"
		}
	case engine:
		if to != "driver" && !slices.Contains(among, to) &&
			!(s.test && (under(to, "driver/drivertest") || slices.Contains(tools, to))) {
			return "an engine knows only driver and what engines have in common, and its tests drivertest and the tools"
		}
	case s.dir == ".":
		if to != "driver" && !under(to, "internal") {
			return "the core knows only driver and its internal packages"
		}
	case s.dir == features:
		if to != "" && to != "driver" && !under(to, "internal") {
			return "what is built on the core knows the core, driver and internal packages"
		}
	case s.dir == operators:
		if to != "" && to != "driver" && !under(to, "internal") {
			return "the operators' tools know the core, driver and internal packages"
		}
	default:
		return "imports_test.go has no rule for this folder: add one"
	}
	return ""
}

// example reports whether the file is part of an example program.
func (s source) example() bool { return path.Base(s.dir) == "example" }

// within reports whether an import is one of this project's, or of the standard library.
func within(imported string) (ours, standard bool) {
	first, _, _ := strings.Cut(imported, "/")
	return under(imported, home), !strings.Contains(first, ".")
}

func under(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

// requirements returns what a go.mod requires.
func requirements(gomod string) (required []string) {
	block := false
	for line := range strings.Lines(gomod) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case block && words[0] == ")":
			block = false
		case block:
			required = append(required, words[0])
		case words[0] == "require" && len(words) > 1 && words[1] == "(":
			block = true
		case words[0] == "require" && len(words) > 1:
			required = append(required, words[1])
		}
	}
	return required
}

// sources reads the imports of all Go files of all modules.
func sources(t *testing.T) (all []source) {
	t.Helper()
	modules := map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		p = filepath.ToSlash(p)
		name := d.Name()
		if d.IsDir() {
			if p != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" ||
				name == "vendor") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
				modules[p] = true
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{dir: path.Dir(p), test: strings.HasSuffix(name, "_test.go")}
		for s.module = s.dir; !modules[s.module]; s.module = path.Dir(s.module) {
			if s.module == "." {
				return fmt.Errorf("%s is in no module", p)
			}
		}
		for _, i := range f.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestImportsPointInward(t *testing.T) {
	t.Parallel()
	all := sources(t)
	dirs := map[string]bool{}
	for _, s := range all {
		dirs[s.dir] = true
		for _, i := range s.imports {
			if why := s.breach(i); why != "" {
				t.Errorf("%s (test: %v) imports %s: %s", s.dir, s.test, i, why)
			}
		}
	}
	for _, must := range []string{".", "driver", "driver/drivertest", "memory", "admin", "internal/localqueue", "fence",
		"redis/redisfence"} {
		if !dirs[must] {
			t.Errorf("the test has not seen folder %s", must)
		}
	}
}

func TestTheRootModuleRequiresNothing(t *testing.T) {
	t.Parallel()
	gomod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if required := requirements(string(gomod)); len(required) != 0 {
		t.Errorf("go.mod requires %v", required)
	}
}

// The rules detect what they are for.
func TestTheImportRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		module, dir string
		test        bool
		imported    string
		allowed     bool
	}{
		{".", ".", false, "fmt", true},
		{".", ".", false, home + "/driver", true},
		{".", ".", false, home + "/internal/agenda", true},
		{".", ".", false, home + "/memory", false},
		{".", ".", false, home + "/admin", false},
		{".", "admin", false, home, true},
		{".", "admin", false, home + "/driver", true},
		{".", "admin", false, home + "/internal/argument", true},
		{".", "admin", false, home + "/memory", false},
		{".", "admin", false, home + "/driver/drivertest", false},
		{".", "admin", false, home + "/internal/redisserver", false},
		{".", "admin", true, home + "/memory", true},
		{".", ".", false, home + "/sqlite", false},
		{".", ".", false, home + "/driver/drivertest", false},
		{".", ".", false, "golang.org/x/sync/errgroup", false},
		{".", ".", true, home, true},
		{".", ".", true, home + "/memory", true},
		{".", ".", true, "go.uber.org/goleak", false},
		{".", "driver", false, "context", true},
		{".", "driver", false, home, false},
		{".", "driver", false, home + "/internal/agenda", false},
		{".", "driver", false, home + "/driver/drivertest", false},
		{".", "driver", true, home + "/driver", true},
		{".", "driver", true, home + "/memory", false},
		{".", "driver/drivertest", false, home + "/driver", true},
		{".", "driver/drivertest", false, home + "/internal/quorumnode", true},
		{".", "driver/drivertest", false, home + "/internal/overdue", false},
		{".", "driver/drivertest", false, home + "/memory", false},
		{".", "driver/drivertest", false, home, false},
		{".", "driver/drivertest", true, home + "/memory", true},
		{".", "memory", false, home + "/driver", true},
		{".", "memory", false, home, false},
		{".", "memory", false, home + "/driver/drivertest", false},
		{".", "memory", false, home + "/internal/agenda", false},
		{"etcd", "etcd", false, home + "/internal/overdue", true},
		{"etcd", "etcd", false, home + "/internal/engineurl", true},
		{"redis", "redis", false, home + "/internal/keyset", true},
		{"redis", "redis", false, home + "/internal/keyset/x", false},
		{"etcd", "etcd", false, home + "/internal/contended", true},
		{"etcd", "etcd", false, home + "/internal/agenda", false},
		{"etcd", "etcd", false, home, false},
		{"etcd", "etcd", true, home, false},
		{"etcd", "etcd", true, home + "/internal/cable", true},
		{"etcd", "etcd", false, home + "/internal/cable", false},
		{"postgres", "postgres", false, "github.com/jackc/pgx/v5", true},
		{"postgres", "postgres", false, home + "/fence", false},
		{"postgres", "postgres", true, home + "/internal/postgresserver", true},
		{"postgres", "postgres", false, home + "/internal/postgresserver", false},
		{"zookeeper", "zookeeper", true, home + "/driver/drivertest", true},
		{"zookeeper", "zookeeper", false, home + "/etcd", false},
		{".", "internal/etcdserver", false, home + "/internal/ports", true},
		{".", "internal/agenda", false, home + "/internal/ports", false},
		{".", "memory", true, home + "/driver/drivertest", true},
		{".", "memory", true, home + "/memory", true},
		{".", "memory", true, home, false},
		{".", "internal/agenda", false, "container/heap", true},
		{".", "internal/agenda", false, home + "/internal/localqueue", true},
		{".", "internal/agenda", false, home + "/driver", false},
		{".", "internal/agenda", false, home, false},
		{".", "internal/agenda", true, home + "/memory", false},
		{".", "internal/agenda", false, home + "/internal/redisserver", false},
		{".", ".", false, home + "/internal/redisserver", false},
		{".", ".", true, home + "/internal/redisserver", true},
		{".", ".", false, home + "/internal/overlay", false},
		{"redis", "redis", true, home + "/internal/overlay", true},
		{"redis", "redis", false, home + "/internal/overlay", false},
		{".", "fence", false, home + "/driver", true},
		{".", "fence", false, home, false},
		{".", "fence", false, home + "/memory", false},
		{".", "fence", false, home + "/redis/redisfence", false},
		{".", "fence", false, home + "/internal/postgresserver", false},
		{".", "fence", true, home, true},
		{".", "fence", true, "github.com/jackc/pgx/v5", false},
		{".", ".", false, home + "/fence", false},
		{"redis", "redis/redisfence", false, home + "/fence", true},
		{"redis", "redis/redisfence", false, "github.com/redis/go-redis/v9", true},
		{"redis", "redis/redisfence", false, home, false},
		{"redis", "redis/redisfence", false, home + "/internal/redisserver", false},
		{"redis", "redis/redisfence", true, home + "/internal/redisserver", true},
		{"redis", "redis", false, home + "/fence", false},
		{"lab/torture", "lab/torture/fencing", true, home + "/internal/postgresserver", true},
		{".", "somewhere/new", false, home + "/driver", false},
		{"sqlite", "sqlite", false, home + "/driver", true},
		{"sqlite", "sqlite", false, "modernc.org/sqlite", true},
		{"sqlite", "sqlite", false, home + "/sqlite/internal/schema", true},
		{"sqlite", "sqlite", false, home, false},
		{"sqlite", "sqlite", false, home + "/memory", false},
		{"sqlite", "sqlite", false, home + "/driver/drivertest", false},
		{"sqlite", "sqlite", true, home + "/driver/drivertest", true},
		{"sqlite", "sqlite", true, home + "/sqlite", true},
		{"sqlite", "sqlite", true, home, false},
		{"sqlite", "sqlite", false, home + "x/y", true}, // of another project
		{"redis", "redis", true, home + "/internal/redisserver", true},
		{"redis", "redis", true, home + "/internal/redisserver/x", false},
		{"redis", "redis", true, home + "/internal/agenda", false},
		{"redis", "redis", true, home + "/memory", false},
		{"redis", "redis/redlock", true, home + "/memory", true},
		{"redis", "redis/redlock", true, home, true},
		{"redis", "redis/redlock", false, home + "/memory", false},
		{"redis", "redis/internal/simulator", true, home, true},
		{"redis", "redis/internal/simulator", false, home, false},
		{"redis", "redis", false, home + "/internal/redisserver", false},
		{"prometheus", "prometheus", false, home, true},
		{"prometheus", "prometheus", false, home + "/driver", true},
		{"prometheus", "prometheus", false, home + "/fence", true},
		{"prometheus", "prometheus", false, "github.com/prometheus/client_golang/prometheus", true},
		{"prometheus", "prometheus", false, home + "/memory", false},
		{"prometheus", "prometheus", false, home + "/redis", false},
		{"prometheus", "prometheus", false, home + "/otel", false},
		{"prometheus", "prometheus", false, home + "/internal/process", false},
		{"prometheus", "prometheus", false, home + "/internal/redisserver", false},
		{"prometheus", "prometheus", true, home + "/memory", true},
		{"prometheus", "prometheus", true, home + "/internal/deployfiles", true},
		{"prometheus", "prometheus", false, home + "/internal/deployfiles", false},
		{"prometheus", "prometheus/example", false, home + "/memory", true},
		{"otel", "otel", false, home, true},
		{"otel", "otel", false, home + "/internal/reason", true},
		{"otel", "otel", false, home + "/internal/reason/x", false},
		{"etcd", "etcd", false, home + "/internal/reason", false},
		{".", "memory", false, home + "/internal/reason", false},
		{".", "internal/reason", false, home, true},
		{".", "internal/reason", false, home + "/driver", false},
		{".", "internal/reason", false, home + "/memory", false},
		{"otel", "otel", false, home + "/memory", false},
		{"otel", "otel", true, home + "/memory", true},
		{"cmd/leasehold", "cmd/leasehold/internal/run", false, home, true},
		{"lab/bench", "lab/bench", false, home + "/internal/redisserver", true},
		{"cmd/leasehold", "cmd/leasehold", false, home + "/sqlite", true},
		{"cmd/leasehold", "cmd/leasehold", false, "github.com/spf13/cobra", true},
		{"lab/torture", "lab/torture", true, home + "/memory", true},
		{"lab/interop", "lab/interop", true, home, true},
		{"lab/interop", "lab/interop", true, home + "/redis", true},
		{"redis", "redis/other", true, home, false},
		{"redis", "redis", false, home + "/redis/internal/subscriptions", true},
		{"redis", "redis", false, home + "/redis/redisson", false},
		{"redis", "redis", false, home + "/redis/redlock", false},
		{"redis", "redis/redlock", false, home + "/redis", true},
		{"redis", "redis/redisson", false, home + "/redis", false},
		{"redis", "redis/redisson", true, home + "/redis", true},
		{"redis", "redis/redisson", false, home, false},
		{"redis", "redis/redisson", true, home, true},
		{"redis", "redis/redisson/objects", false, home, true},
		{"redis", "redis/redisson/objects", false, home + "/redis/redisson", true},
		{"redis", "redis/redisson/objects", false, home + "/internal/argument", true},
		{"redis", "redis/redisson/objects", false, home + "/admin", false},
		{"redis", "redis/redisson", false, home + "/redis/internal/subscriptions", true},
		{"redis", "redis/redisson", false, home + "/redis/redisson/internal/x", true},
		{"redis", "redis/internal/redisurl", false, home + "/internal/engineurl", true},
		{"redis", "redis/internal/redisurl", false, home + "/internal/agenda", false},
		{"redis", "redis/internal/subscriptions", false, home + "/redis", false},
		{"redis", "redis/internal/subscriptions", false, home + "/redis/redisson", false},
		{"redis", "redis/internal/subscriptions", false, home + "/redis/internal/unsent", true},
		{"redis", "redis/internal/subscriptions", false, home + "/driver", true},
		{"redis", "redis/internal/subscriptions", false, home, false},
	} {
		s := source{module: c.module, dir: c.dir, test: c.test}
		if why := s.breach(c.imported); (why == "") != c.allowed {
			t.Errorf("%s (test: %v) imports %s: allowed %v, want %v: %s", c.dir, c.test, c.imported, why == "",
				c.allowed, why)
		}
	}
	for gomod, want := range map[string]string{
		"module m\n\ngo 1.26\n":                                         "[]",
		"module m\nrequire a.b/c v1.0.0\n":                              "[a.b/c]",
		"module m\nrequire (\n\ta v1 // indirect\n\t// no\n\tb v2\n)\n": "[a b]",
		"module m\n// require c v1\nreplace d => ../d\n":                "[]",
	} {
		if got := fmt.Sprint(requirements(gomod)); got != want {
			t.Errorf("%q requires %s, want %s", gomod, got, want)
		}
	}
}
