package lib

import (
	"context"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	pgxModule = "github.com/jackc/pgx/v5"

	// How configurations call the client of PostgreSQL.
	pgxClient = "pgxpool"

	poolSize = 16
)

// pool returns a connection pool for the first address, as the superuser of a server without
// passwords.
func pool(at Config) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig("postgres://postgres@" + at.firstAddr() + "/postgres?sslmode=disable")
	if err != nil {
		return nil, err
	}
	config.MaxConns = poolSize
	if at.Sent != nil {
		dialer := net.Dialer{Timeout: 5 * time.Second}
		config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return at.Sent.Postgres(conn), nil
		}
	}
	return pgxpool.NewWithConfig(context.Background(), config)
}
