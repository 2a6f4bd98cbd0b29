package zookeeper

import (
	"context"
	"fmt"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/internal/overdue"
)

// New makes an engine with a session on an ensemble, which [Engine.Close] ends. Servers are HOST:PORT; naming all of the ensemble lets the session
// outlive any of them. It waits until a server has taken the client in, for as long as the context lasts; without a deadline, for as long as a
// request may take. If no server can be reached, it fails at once. What is not allowed is an [*OptionError].
func New(ctx context.Context, servers []string, opts ...Option) (*Engine, error) {
	c := config{prefix: DefaultPrefix, sessionTimeout: DefaultSessionTimeout, timeout: DefaultTimeout}
	for _, server := range servers {
		address, fault := engineurl.Address(server, port, port)
		if fault != nil {
			return nil, &OptionError{"the list of servers", "addresses as in localhost, 10.0.0.1:2181 or [::1]:2181"}
		}
		c.servers = append(c.servers, address)
	}
	if len(servers) == 0 {
		return nil, &OptionError{"the list of servers", "one address at least, as in localhost:2181"}
	}
	for _, o := range opts {
		if err := o(&c); err != nil {
			return nil, err
		}
	}
	return open(ctx, c)
}

func open(ctx context.Context, c config) (*Engine, error) {
	e := &Engine{config: c, prefix: c.prefix, acl: c.acl()}
	e.places.init()
	e.life, e.kill = context.WithCancel(context.Background())
	e.errands, e.giveUp = context.WithCancel(context.Background())
	client, err := dialUp(c, e.expired)
	if err != nil {
		e.kill()
		e.giveUp()
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	e.client = client
	e.ends = overdue.New(e.lapse)
	e.empties = overdue.New(e.tidy)
	if err := client.enter(ctx, c); err != nil {
		_ = e.Close() // what went wrong first is what matters
		return nil, err
	}
	e.config.password = "" // the client has it
	_, longest := client.current()
	e.abilities = driver.Abilities{
		Name:       "zookeeper",
		Shared:     true,
		Semaphores: true,
		Force:      true,
		Waiters:    true,
		Fair:       true,
		Prompt:     true,
		Examine:    true,
		Leaks:      true,
		MaxTTL:     longest,
	}
	return e, nil
}

// expired is told by the client that a session is over. What went with it is gone.
func (e *Engine) expired() { e.places.forget() }
