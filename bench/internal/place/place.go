// Package place is where the benchmark runs: servers of several kinds, started for it or given.
package place

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/internal/etcdserver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// Kind is a kind of place.
type Kind string

// The kinds there are.
const (
	OneRedis     Kind = "Redis"
	FiveRedis    Kind = "five Redis"
	OnePostgres  Kind = "PostgreSQL"
	OneEtcd      Kind = "etcd"
	OneZooKeeper Kind = "ZooKeeper"
)

// Place is where libraries work: a server, or several that are used together.
type Place interface {
	// Addrs are the host:port of its servers.
	Addrs() []string
	// About is for the report.
	About() About
	// Load reads what the servers have done so far.
	Load(context.Context) (Load, error)
	// Sweep deletes all that has mark in its name.
	Sweep(ctx context.Context, mark string) error
	// Close ends the servers that were started for it.
	Close() error
}

// About says what a place is.
type About struct {
	Kind    Kind   `json:"kind"`
	Version string `json:"version"`
	Config  string `json:"config"`
}

// Load is what servers have done since they started.
type Load struct {
	// Commands counts all that clients have asked for; in Redis also what scripts call. It is NaN where the server does not tell.
	Commands float64
	// CPU is the processor time of the whole process, or of all of them. Zero where the system does not tell.
	CPU time.Duration
	// Memory is what is in use by data, in bytes. Zero where the server does not tell.
	Memory int64
}

// disk says where servers keep their files.
func disk() string { return "the disk of " + os.TempDir() }

// Missing reports whether a place could not be opened because its server is not installed.
func Missing(err error) bool {
	programs := []error{redisserver.ErrMissing, postgresserver.ErrMissing, etcdserver.ErrMissing, zookeeperserver.ErrMissing}
	return slices.ContainsFunc(programs, func(missing error) bool { return errors.Is(err, missing) })
}

// Places are those of one run. A place is opened when it is first asked for. One goroutine at a time may use them.
type Places struct {
	redis string
	open  map[Kind]Place
	order []Place
}

// New returns places without any open. The single Redis is at the given host:port; if that is empty, one is started.
func New(redis string) *Places { return &Places{redis: redis, open: map[Kind]Place{}} }

// Of returns the place of a kind. If its server is not installed, the error is one of those that Missing knows.
func (p *Places) Of(ctx context.Context, k Kind) (Place, error) {
	if there, ok := p.open[k]; ok {
		return there, nil
	}
	var (
		opened Place
		err    error
	)
	switch k {
	case OneRedis:
		opened, err = OpenRedis(ctx, p.redis)
	case FiveRedis:
		opened, err = OpenNodes(ctx)
	case OnePostgres:
		opened, err = OpenPostgres(ctx)
	case OneEtcd:
		opened, err = OpenEtcd(ctx)
	case OneZooKeeper:
		opened, err = OpenZooKeeper(ctx)
	default:
		err = errors.New("place: there is no kind " + string(k))
	}
	if err != nil {
		return nil, err
	}
	p.open[k] = opened
	p.order = append(p.order, opened)
	return opened, nil
}

// About says what was opened, in that order.
func (p *Places) About() (all []About) {
	for _, there := range p.order {
		all = append(all, there.About())
	}
	return all
}

// Sweep sweeps all that are open.
func (p *Places) Sweep(ctx context.Context, mark string) error {
	var errs []error
	for _, there := range p.order {
		errs = append(errs, there.Sweep(ctx, mark))
	}
	return errors.Join(errs...)
}

// Close closes all that are open.
func (p *Places) Close() error {
	var errs []error
	for _, there := range p.order {
		errs = append(errs, there.Close())
	}
	p.open, p.order = map[Kind]Place{}, nil
	return errors.Join(errs...)
}
