// Package servers starts the servers that the benchmark runs on, or connects to a given one.
package servers

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

// Kind is a kind of server.
type Kind string

// All kinds of servers.
const (
	OneRedis     Kind = "Redis"
	FiveRedis    Kind = "five Redis"
	OnePostgres  Kind = "PostgreSQL"
	OneEtcd      Kind = "etcd"
	OneZooKeeper Kind = "ZooKeeper"
)

// Backend is one server, or several that are used together.
type Backend interface {
	// Addrs returns the host:port of each server.
	Addrs() []string
	// Info describes the servers for the report.
	Info() Info
	// Load reads what the servers have done so far.
	Load(context.Context) (Load, error)
	// RemoveKeys deletes everything that has mark in its name.
	RemoveKeys(ctx context.Context, mark string) error
	// Close ends the servers that the benchmark has started.
	Close() error
}

// Info describes a backend.
type Info struct {
	Kind    Kind   `json:"kind"`
	Version string `json:"version"`
	Config  string `json:"config"`
}

// Load is what servers have done since they started.
type Load struct {
	// Commands counts the requests of all clients; in Redis also the commands that scripts call. It
	// is NaN if the server does not tell.
	Commands float64
	// CPU is the processor time of the server's processes. It is zero if the system does not tell.
	CPU time.Duration
	// Memory is the memory that data uses, in bytes. It is zero if the server does not tell.
	Memory int64
}

// disk says where servers store their files.
func disk() string { return "the disk of " + os.TempDir() }

// Missing reports whether a backend could not be opened because its server is not installed.
func Missing(err error) bool {
	programs := []error{redisserver.ErrMissing, postgresserver.ErrMissing, etcdserver.ErrMissing,
		zookeeperserver.ErrMissing}
	return slices.ContainsFunc(programs, func(missing error) bool { return errors.Is(err, missing) })
}

// Pool holds the backends of one run. It opens a backend when it is first asked for. It is not safe
// for concurrent use.
type Pool struct {
	redis string
	open  map[Kind]Backend
	order []Backend
}

// New returns an empty pool. The single Redis is at the given host:port; if that is empty, the pool
// starts one.
func New(redis string) *Pool { return &Pool{redis: redis, open: map[Kind]Backend{}} }

// Get returns the backend of a kind. If its server is not installed, Missing reports true for the
// error.
func (p *Pool) Get(ctx context.Context, k Kind) (Backend, error) {
	if there, ok := p.open[k]; ok {
		return there, nil
	}
	var (
		opened Backend
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
		err = errors.New("servers: there is no kind " + string(k))
	}
	if err != nil {
		return nil, err
	}
	p.open[k] = opened
	p.order = append(p.order, opened)
	return opened, nil
}

// Infos describes the open backends, in the order in which they were opened.
func (p *Pool) Infos() (all []Info) {
	for _, there := range p.order {
		all = append(all, there.Info())
	}
	return all
}

// RemoveKeys calls RemoveKeys of all open backends.
func (p *Pool) RemoveKeys(ctx context.Context, mark string) error {
	var errs []error
	for _, there := range p.order {
		errs = append(errs, there.RemoveKeys(ctx, mark))
	}
	return errors.Join(errs...)
}

// Close closes all that are open.
func (p *Pool) Close() error {
	var errs []error
	for _, there := range p.order {
		errs = append(errs, there.Close())
	}
	p.open, p.order = map[Kind]Backend{}, nil
	return errors.Join(errs...)
}
