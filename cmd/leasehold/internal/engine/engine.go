package engine

import (
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/sqlite"
)

// engineOpener opens the engines of some schemes.
type engineOpener struct {
	schemes []string
	form    string // an example of such a URL, for messages
	// open gets the whole URL. It parses it, or lets the engine do so.
	open func(raw string) (driver.Engine, func() error, error)
}

// openers are all engines. A new engine is one more line.
var openers = []engineOpener{
	{[]string{"memory"}, "memory:", openMemory},
	{[]string{"sqlite"}, "sqlite:PATH", openSQLite},
	{[]string{"redis", "rediss"}, "redis://HOST", openRedis},
	{[]string{"redis+unix"}, "redis+unix:///PATH", openRedis},
	{[]string{"redis+sentinel", "rediss+sentinel"}, "redis+sentinel://HOST,.../MASTER", openRedis},
	{[]string{"redis+cluster", "rediss+cluster"}, "redis+cluster://HOST,...", openRedis},
	{[]string{"redlock", "redlocks"}, "redlock://HOST,HOST,HOST", openRedlock},
	{[]string{"postgres", "postgresql"}, "postgres://HOST/DATABASE", openPostgres},
	{[]string{"etcd", "etcds"}, "etcd://HOST,...", openEtcd},
	{[]string{"zookeeper", "zookeepers"}, "zookeeper://HOST,...", openZooKeeper},
}

// Forms returns an example URL for each engine, for help texts.
func Forms() []string { return urlForms(openers) }

// IsScheme reports whether scheme is that of an engine.
func IsScheme(scheme string) bool {
	return slices.ContainsFunc(openers, func(o engineOpener) bool { return slices.Contains(o.schemes, scheme) })
}

// Open opens the engine that raw names, and returns a function that closes it. The error is a *URLError if the URL is
// invalid. Any other error means that the engine cannot be reached or used.
func Open(raw string) (driver.Engine, func() error, error) {
	o, err := findOpener(raw, openers)
	if err != nil {
		return nil, nil, err
	}
	return o.open(raw)
}

// openMemory opens an engine that ends with this process. It is for tests.
func openMemory(raw string) (driver.Engine, func() error, error) {
	rest, _, err := parseLocation(raw, nil)
	if err != nil {
		return nil, nil, err
	}
	if rest != "" {
		return nil, nil, &URLError{Part: "what follows memory:", Value: showable(rest), Allowed: "left out"}
	}
	return memory.New(), func() error { return nil }, nil
}

func openSQLite(raw string) (driver.Engine, func() error, error) {
	rest, given, err := parseLocation(raw, map[string][]string{"share": {"group", "all"}})
	if err != nil {
		return nil, nil, err
	}
	path, err := sqlitePath(rest)
	if err != nil {
		return nil, nil, err
	}
	e, err := sqlite.Open(path,
		sqlite.WithSharing(map[string]sqlite.Sharing{"group": sqlite.Group, "all": sqlite.Everybody}[given["share"]]))
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}

// sqlitePath returns the file that sqlite:PATH or sqlite:///PATH names. It decodes nothing: the name is used as it was
// typed.
func sqlitePath(location string) (string, error) {
	path := location
	if after, found := strings.CutPrefix(location, "//"); found {
		if !strings.HasPrefix(after, "/") {
			return "", &URLError{Part: "location", Value: showable(location),
				Allowed: "a path, as in sqlite:locks.db or sqlite:///var/lib/locks.db"}
		}
		path = after
	}
	if strings.Contains(path, "://") {
		return "", &URLError{Part: "a URL behind sqlite:",
			Allowed: "a path, as in sqlite:locks.db; or leave sqlite: away"}
	}
	if path == "" {
		return "", &URLError{Part: "an empty path", Allowed: "the file to keep locks in, as in sqlite:locks.db"}
	}
	return path, nil
}
