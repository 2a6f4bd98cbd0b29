package engine

import (
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/sqlite"
)

// opener opens the engines of some schemes.
type opener struct {
	schemes []string
	form    string // how such a URL looks, for messages
	// open gets the whole URL. It takes it apart itself, or asks the engine to.
	open func(raw string) (driver.Engine, func() error, error)
}

// openers are the engines that there are. A new one is one more line.
var openers = []opener{
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

// Forms says how engine URLs look, for help texts.
func Forms() []string { return forms(openers) }

// IsScheme reports whether URLs of an engine begin so.
func IsScheme(scheme string) bool {
	return slices.ContainsFunc(openers, func(o opener) bool { return slices.Contains(o.schemes, scheme) })
}

// Open opens the engine that raw names. The function that it returns closes the
// engine. A URL that is not allowed is a *URLError; every other error means that the engine
// cannot be reached or used.
func Open(raw string) (driver.Engine, func() error, error) {
	o, err := find(raw, openers)
	if err != nil {
		return nil, nil, err
	}
	return o.open(raw)
}

// openMemory opens an engine that ends with this process: for tests.
func openMemory(raw string) (driver.Engine, func() error, error) {
	rest, _, err := location(raw, nil)
	if err != nil {
		return nil, nil, err
	}
	if rest != "" {
		return nil, nil, &URLError{Part: "what follows memory:", Value: public(rest), Allowed: "left out"}
	}
	return memory.New(), func() error { return nil }, nil
}

func openSQLite(raw string) (driver.Engine, func() error, error) {
	rest, given, err := location(raw, map[string][]string{"share": {"group", "all"}})
	if err != nil {
		return nil, nil, err
	}
	path, err := sqlitePath(rest)
	if err != nil {
		return nil, nil, err
	}
	e, err := sqlite.Open(path, sqlite.WithSharing(map[string]sqlite.Sharing{"group": sqlite.Group, "all": sqlite.Everybody}[given["share"]]))
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}

// sqlitePath returns the file that sqlite:PATH or sqlite:///PATH names. Nothing in it is
// decoded: what is typed is the name of the file.
func sqlitePath(location string) (string, error) {
	path := location
	if after, found := strings.CutPrefix(location, "//"); found {
		if !strings.HasPrefix(after, "/") {
			return "", &URLError{Part: "location", Value: public(location), Allowed: "a path, as in sqlite:locks.db or sqlite:///var/lib/locks.db"}
		}
		path = after
	}
	if path == "" {
		return "", &URLError{Part: "an empty path", Allowed: "the file to keep locks in, as in sqlite:locks.db"}
	}
	return path, nil
}
