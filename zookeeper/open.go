package zookeeper

import (
	"context"
	"fmt"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/internal/overdue"
)

// New creates an engine with a session on an ensemble. [Engine.Close] ends it. Servers are HOST:PORT; naming all of the
// ensemble lets the session outlive any of them. New waits until a server has accepted the client, for as long as ctx
// lasts, or for the request timeout if ctx has no deadline. If no server can be reached, it fails at once. An argument
// that is not allowed is an [*OptionError].
func New(ctx context.Context, servers []string, opts ...Option) (*Engine, error) {
	c := config{prefix: DefaultPrefix, sessionTimeout: DefaultSessionTimeout, timeout: DefaultTimeout}
	for _, server := range servers {
		address, err := engineurl.Address(server, port, port)
		if err != nil {
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
	e.owned.init()
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.cleanupCtx, e.cancelCleanup = context.WithCancel(context.Background())
	client, err := startClient(c, e.onExpired)
	if err != nil {
		e.cancel()
		e.cancelCleanup()
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	e.client = client
	e.deadlines = overdue.New(e.removeExpired)
	e.emptyNames = overdue.New(e.removeEmptyNames)
	if err := client.login(ctx, c); err != nil {
		_ = e.Close() // the first error is the one that matters
		return nil, err
	}
	e.config.password = "" // the client keeps it
	_, longest := client.current()
	e.abilities = driver.Abilities{
		Name:       "zookeeper",
		Shared:     true,
		Semaphores: true,
		Waiters:    true,
		Fair:       true,
		MaxTTL:     longest,
	}
	return e, nil
}

// onExpired is called by the client when its session is over. All ephemeral nodes of that session are gone.
func (e *Engine) onExpired() { e.owned.forgetAll() }
