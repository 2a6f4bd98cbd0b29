package lib

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// Advisory is the least that a lock in PostgreSQL can cost: its own advisory locks, which last as
// long as a connection. It has neither leases nor tokens.
var Advisory = Library{
	Name:   "advisory",
	Module: pgxModule,
	On:     servers.OnePostgres,
	Config: "pg_advisory_lock(hashtext(name)), then pg_advisory_unlock; each lock and each waiter keeps a " +
		"connection; " + pgxClient,
	Open: func(at Config) (Session, error) {
		p, err := pool(at)
		if err != nil {
			return nil, err
		}
		return &advisory{p}, nil
	},
}

type advisory struct{ pool *pgxpool.Pool }

func (a *advisory) Lock(ctx context.Context, name string) (Held, error) {
	conn, err := a.pool.Acquire(ctx)
	if err != nil {
		return Held{}, err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", name); err != nil {
		conn.Release() // the pool closes the connection if the outcome of the statement is unknown
		return Held{}, err
	}
	return Held{Release: func() error {
		defer conn.Release()
		var held bool
		err := conn.QueryRow(ctx, "SELECT pg_advisory_unlock(hashtext($1))", name).Scan(&held)
		if err == nil && !held {
			err = errNotHeld
		}
		return err
	}}, nil
}

func (a *advisory) Close() error {
	a.pool.Close()
	return nil
}
