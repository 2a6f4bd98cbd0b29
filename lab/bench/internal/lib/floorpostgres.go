package lib

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// FloorPostgres is the least that a lock in PostgreSQL can cost without being bound to a
// connection: it must be stored in a row, and each change of a row is committed. It has neither
// leases nor tokens, and cannot wait.
var FloorPostgres = Library{
	Name:   "floor postgres",
	Module: pgxModule,
	On:     servers.OnePostgres,
	Config: "one UPDATE of a row of an unlogged table to take it, and one to let it go; " + pgxClient,
	Open:   openFloorPostgres,
}

// floorTable leaves room on each page for changed rows, so that updates need not change the index.
const floorTable = `
	CREATE UNLOGGED TABLE IF NOT EXISTS bench_floor (name text PRIMARY KEY, owner text) WITH (fillfactor = 50)`

type floorPostgres struct {
	pool  *pgxpool.Pool
	owner string
}

func openFloorPostgres(at Config) (Session, error) {
	p, err := pool(at)
	if err != nil {
		return nil, err
	}
	if _, err := p.Exec(context.Background(), floorTable); err != nil {
		p.Close()
		return nil, err
	}
	return &floorPostgres{p, rand.Text()}, nil
}

func (f *floorPostgres) Lock(ctx context.Context, name string) (Held, error) {
	for _, take := range []string{
		"UPDATE bench_floor SET owner = $2 WHERE name = $1 AND owner IS NULL",
		"INSERT INTO bench_floor (name, owner) VALUES ($1, $2) ON CONFLICT DO NOTHING",
	} {
		taken, err := f.pool.Exec(ctx, take, name, f.owner)
		if err != nil {
			return Held{}, err
		}
		if taken.RowsAffected() == 1 {
			return Held{Release: func() error { return f.release(ctx, name) }}, nil
		}
	}
	return Held{}, errors.New("the floor cannot wait: give it names of its own")
}

func (f *floorPostgres) release(ctx context.Context, name string) error {
	released, err := f.pool.Exec(ctx, "UPDATE bench_floor SET owner = NULL WHERE name = $1 AND owner = $2", name,
		f.owner)
	if err == nil && released.RowsAffected() != 1 {
		err = errNotHeld
	}
	return err
}

func (f *floorPostgres) Close() error {
	f.pool.Close()
	return nil
}
