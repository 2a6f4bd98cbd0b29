package lib

import (
	"context"
	"errors"
	"math"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
)

// Crowd are many clients of leasehold that share the connections of one engine. Each of them waits for a name by
// itself, as the client of a process of its own would, which takes far more memory.
type Crowd struct {
	clients []*leasehold.Client
	engine  *redis.Engine
	admin   *admin.Client
	close   func() error
}

// OpenCrowd opens n clients, and lets as many wait for one name as want to.
func OpenCrowd(at Config, n int) (*Crowd, error) {
	c := client(at)
	e, err := redis.New(c, redis.WithoutFailoverGuard())
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	all := &Crowd{engine: e, admin: admin.New(e), close: c.Close}
	for range n {
		all.clients = append(all.clients, leasehold.New(e, leasehold.WithMaxWaiters(math.MaxInt32)))
	}
	return all, nil
}

// Lock lets one of the clients lock a name.
func (c *Crowd) Lock(ctx context.Context, i int, name string) (Held, error) {
	lease, err := c.clients[i].Mutex(name).Lock(ctx)
	if err != nil {
		return Held{}, err
	}
	return Held{Token: lease.Token(), Release: lease.Release}, nil
}

// Waiting returns how many wait for a name.
func (c *Crowd) Waiting(ctx context.Context, name string) (int, error) {
	all, err := c.admin.Inspect(ctx, name)
	for _, s := range all {
		if s.Kind == driver.Lock {
			return s.Waiting, err
		}
	}
	return 0, err
}

// Close closes all clients.
func (c *Crowd) Close() error {
	var closers []func() error
	for _, one := range c.clients {
		closers = append(closers, one.Close)
	}
	return closeInOrder(append(closers, c.engine.Close, c.close))
}
