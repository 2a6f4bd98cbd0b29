package lib

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// Pglock sends the requests with which cirello.io/pglock 1.18 acquires and releases, over a faster
// client.
var Pglock = Library{
	Name:   "pglock's statements",
	Module: pgxModule,
	On:     servers.OnePostgres,
	Config: "what cirello.io/pglock sends to acquire (a number from a sequence; an insert that takes over on " +
		"conflict) and to release (a delete), without its first heartbeat: it can only be faster; " + pgxClient,
	Open: openPglock,
}

// pglockTables are created in the pool's schema. The table is logged, as in pglock.
const pglockTables = `
CREATE TABLE IF NOT EXISTS bench_pglock (name varchar(255) PRIMARY KEY, version bigint, data bytea, owner varchar(255));
CREATE SEQUENCE IF NOT EXISTS bench_pglock_versions CYCLE OWNED BY bench_pglock.version`

// pglockAcquire takes the row unless its version has changed since it was seen ($5), and returns
// the resulting owner.
const pglockAcquire = `
INSERT INTO bench_pglock AS l (name, version, data, owner) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET
	version = CASE WHEN coalesce(l.version = $5, true) THEN $2 ELSE l.version END,
	data = CASE WHEN coalesce(l.version = $5, true) THEN $3 ELSE l.data END,
	owner = CASE WHEN coalesce(l.version = $5, true) THEN $4 ELSE l.owner END
RETURNING version, data, owner`

type pglock struct {
	pool  *pgxpool.Pool
	owner string
}

func openPglock(at Config) (Session, error) {
	p, err := pool(at)
	if err != nil {
		return nil, err
	}
	if _, err := p.Exec(context.Background(), pglockTables); err != nil {
		p.Close()
		return nil, err
	}
	return &pglock{p, rand.Text()}, nil
}

func (p *pglock) Lock(ctx context.Context, name string) (Held, error) {
	var (
		version, now int64
		data         []byte
		owner        string
	)
	if err := p.pool.QueryRow(ctx, "SELECT nextval('bench_pglock_versions')").Scan(&version); err != nil {
		return Held{}, err
	}
	row := p.pool.QueryRow(ctx, pglockAcquire, name, version, nil, p.owner, int64(0))
	if err := row.Scan(&now, &data, &owner); err != nil {
		return Held{}, err
	}
	if now != version {
		return Held{}, errors.New(
			"pglock waits for a whole lease of 20 s before it tries again: give it names of its own")
	}
	return Held{Release: func() error {
		deleted, err := p.pool.Exec(ctx, "DELETE FROM bench_pglock WHERE name = $1 AND version = $2", name, version)
		if err == nil && deleted.RowsAffected() != 1 {
			err = errNotHeld
		}
		return err
	}}, nil
}

func (p *pglock) Close() error {
	p.pool.Close()
	return nil
}
