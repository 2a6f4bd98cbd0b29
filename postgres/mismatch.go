package postgres

import (
	"context"
	"net"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/internal/peer"
)

// otherServerError says that a server is no PostgreSQL server.
type otherServerError struct{ address, what string }

// Error implements error.
func (e *otherServerError) Error() string {
	return e.address + " is no PostgreSQL server, but " + e.what + ": fix the host or the port"
}

// otherServers are those that wait for ever for the end of what PostgreSQL clients send first.
var otherServers = map[peer.Kind]string{
	peer.Redis: "a Redis server", peer.HTTP: "an HTTP server", peer.ZooKeeper: "a ZooKeeper server",
}

// checkServers makes connections fail with an otherServerError if another server answers there.
func checkServers(c *pgx.ConnConfig) {
	checker := peer.NewChecker(func(k peer.Kind, address string) error {
		if what := otherServers[k]; what != "" {
			return &otherServerError{address, what}
		}
		return nil
	})
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil || network != "tcp" {
			return conn, err
		}
		return checker.Check(conn, address), nil
	}
}
