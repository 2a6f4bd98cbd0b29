package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9/logging"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/postgres"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redlock"
	"github.com/leasehold-go/leasehold/sqlite"
	"github.com/leasehold-go/leasehold/zookeeper"
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
	{[]string{"redisson", "redissons"}, "redisson://HOST", openRedisson},
	{[]string{"redisson+unix"}, "redisson+unix:///PATH", openRedisson},
	{[]string{"redisson+sentinel", "redissons+sentinel"}, "redisson+sentinel://HOST,.../MASTER", openRedisson},
	{[]string{"redisson+cluster", "redissons+cluster"}, "redisson+cluster://HOST,...", openRedisson},
	{[]string{"postgres", "postgresql"}, "postgres://HOST/DATABASE", openPostgres},
	{[]string{"etcd", "etcds"}, "etcd://HOST,...", openEtcd},
	{[]string{"zookeeper", "zookeepers"}, "zookeeper://HOST,...", openZooKeeper},
}

// Forms returns an example URL for each engine, for help texts.
func Forms() []string { return urlForms(openers) }

// Schemes returns the beginnings of the URLs of all engines, for shells that complete them.
func Schemes() (all []string) {
	for _, o := range openers {
		for _, scheme := range o.schemes {
			switch end := "://"; {
			case strings.HasPrefix(o.form, scheme+":") && !strings.Contains(o.form, end):
				all = append(all, scheme+":")
			case strings.Contains(o.form, ":///"):
				all = append(all, scheme+":///")
			default:
				all = append(all, scheme+end)
			}
		}
	}
	return all
}

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
	u := engineurl.SplitLocal(raw)
	if err := (&engineurl.Syntax[struct{}]{}).SetParameters(u, nil); err != nil {
		return nil, nil, err
	}
	if u.Path != "" {
		return nil, nil, &URLError{Part: "what follows memory:", Value: showable(u.Path), Allowed: "left out"}
	}
	return memory.New(), func() error { return nil }, nil
}

var sqliteSyntax = engineurl.Syntax[sqlite.Sharing]{
	Parameters: []engineurl.Parameter[sqlite.Sharing]{
		engineurl.Word("share", []string{"group", "all"}, func(s *sqlite.Sharing, word string) {
			*s = map[string]sqlite.Sharing{"group": sqlite.Group, "all": sqlite.Everybody}[word]
		}),
	},
}

func openSQLite(raw string) (driver.Engine, func() error, error) {
	u := engineurl.SplitLocal(raw)
	var sharing sqlite.Sharing
	if err := sqliteSyntax.SetParameters(u, &sharing); err != nil {
		return nil, nil, err
	}
	path, err := sqlitePath(u.Path)
	if err != nil {
		return nil, nil, err
	}
	return opened(sqlite.Open(path, sqlite.WithSharing(sharing)))
}

// opened returns an engine with the function that closes it, or the error.
func opened[E interface {
	driver.Engine
	Close() error
}](e E, err error) (driver.Engine, func() error, error) {
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}

// openLimit is how long opening may take for an engine that sends requests before it can be used: as long as a request.
// It leaves time for a second server if the first one hangs.
const openLimit = leasehold.DefaultRequestTimeout

// openPostgres opens a database, and creates the tables if they are missing.
func openPostgres(raw string) (driver.Engine, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openLimit)
	defer cancel()
	return opened(postgres.Open(ctx, raw))
}

// openEtcd opens an etcd cluster.
func openEtcd(raw string) (driver.Engine, func() error, error) { return opened(etcd.Open(raw)) }

// openZooKeeper opens an ensemble, and waits for a session.
func openZooKeeper(raw string) (driver.Engine, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openLimit)
	defer cancel()
	return opened(zookeeper.Open(ctx, raw))
}

// openRedis opens one server, servers behind Sentinels, or a Cluster.
func openRedis(raw string) (driver.Engine, func() error, error) {
	// The log of go-redis goes to standard error, and says nothing that the errors do not say.
	logging.Disable()
	return opened(redis.Open(raw))
}

// openRedisson opens one server, servers behind Sentinels, or a Cluster, for locks that programs in Java share.
func openRedisson(raw string) (driver.Engine, func() error, error) {
	logging.Disable()
	return opened(redisson.Open(raw))
}

// openRedlock opens several servers that vote.
func openRedlock(raw string) (driver.Engine, func() error, error) {
	logging.Disable()
	return opened(redlock.Open(context.Background(), raw))
}

// OpenToExamine is Open for commands that only examine: it accepts servers of a majority that must not vote, such as
// replicas. They do not vote then, either.
func OpenToExamine(raw string) (driver.Engine, func() error, error) {
	o, err := findOpener(raw, openers)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(o.schemes, "redlock") {
		return o.open(raw)
	}
	logging.Disable()
	return opened(redlock.OpenToExamine(raw))
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
