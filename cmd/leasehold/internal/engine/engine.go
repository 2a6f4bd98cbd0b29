package engine

import (
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/memory"
)

// openFunc opens the engine that a URL names, and returns a function that closes it. It gets the whole URL, and parses
// it, or lets the engine do so.
type openFunc func(raw string) (driver.Engine, func() error, error)

// engineOpener opens the engines of some schemes.
type engineOpener struct {
	schemes []string
	form    string   // an example of such a URL, for messages
	tag     string   // the build tag that leaves the engine out; no_servers leaves out all that need a server
	open    openFunc // nil if this build does not have the engine
}

// openers are all engines. A new engine is one more line, and a file that its build tag leaves out.
var openers = []engineOpener{
	{[]string{"memory"}, "memory:", "", openMemory},
	{[]string{"sqlite"}, "sqlite:PATH", "no_sqlite", openSQLite},
	{[]string{"redis", "rediss"}, "redis://HOST", "no_redis", openRedis},
	{[]string{"redis+unix"}, "redis+unix:///PATH", "no_redis", openRedis},
	{[]string{"redis+sentinel", "rediss+sentinel"}, "redis+sentinel://HOST,.../MASTER", "no_redis", openRedis},
	{[]string{"redis+cluster", "rediss+cluster"}, "redis+cluster://HOST,...", "no_redis", openRedis},
	{[]string{"redlock", "redlocks"}, "redlock://HOST,HOST,HOST", "no_redis", openRedlock},
	{[]string{"redisson", "redissons"}, "redisson://HOST", "no_redis", openRedisson},
	{[]string{"redisson+unix"}, "redisson+unix:///PATH", "no_redis", openRedisson},
	{[]string{"redisson+sentinel", "redissons+sentinel"}, "redisson+sentinel://HOST,.../MASTER", "no_redis",
		openRedisson},
	{[]string{"redisson+cluster", "redissons+cluster"}, "redisson+cluster://HOST,...", "no_redis", openRedisson},
	{[]string{"postgres", "postgresql"}, "postgres://HOST/DATABASE", "no_postgres", openPostgres},
	{[]string{"etcd", "etcds"}, "etcd://HOST,...", "no_etcd", openEtcd},
	{[]string{"zookeeper", "zookeepers"}, "zookeeper://HOST,...", "no_zookeeper", openZooKeeper},
}

// inBuild are the engines that this build has.
var inBuild = slices.DeleteFunc(slices.Clone(openers), func(o engineOpener) bool { return o.open == nil })

// Schemes returns the beginnings of the URLs of all engines of this build, for shells that complete them.
func Schemes() (all []string) {
	for _, o := range inBuild {
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

// Forms returns an example URL for each engine of this build, for help texts.
func Forms() []string { return urlForms(inBuild) }

// IsScheme reports whether scheme is that of an engine, even if this build does not have it.
func IsScheme(scheme string) bool {
	return slices.ContainsFunc(openers, func(o engineOpener) bool { return slices.Contains(o.schemes, scheme) })
}

// Open opens the engine that raw names, and returns a function that closes it. The error is a *URLError if the URL is
// invalid, and a *MissingError if this build does not have the engine. Any other error means that the engine cannot be
// reached or used.
func Open(raw string) (driver.Engine, func() error, error) {
	o, err := find(raw)
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

// OpenToExamine is Open for commands that only examine: it accepts servers of a majority that must not vote, such as
// replicas. They do not vote then, either.
func OpenToExamine(raw string) (driver.Engine, func() error, error) {
	o, err := find(raw)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(o.schemes, "redlock") {
		return o.open(raw)
	}
	return examineRedlock(raw)
}
