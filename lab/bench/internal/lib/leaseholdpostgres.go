package lib

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/postgres"
)

// LeaseholdPostgres is this library on its PostgreSQL engine.
var LeaseholdPostgres = Library{
	Name:   "leasehold postgres",
	Module: tree,
	On:     servers.OnePostgres,
	Ours:   true,
	Config: onServer + pgxClient + " and a connection for messages",
	Open:   openLeaseholdPostgres,
}

func openLeaseholdPostgres(at Config) (Session, error) {
	p, err := pool(at)
	if err != nil {
		return nil, err
	}
	closing := func() error { p.Close(); return nil }
	if err := postgres.Migrate(context.Background(), p, postgres.DefaultSchema); err != nil {
		return nil, errors.Join(err, closing())
	}
	e, err := postgres.New(p)
	if err != nil {
		return nil, errors.Join(err, closing())
	}
	return newLeaseholdSession(at, e, e.Close, closing), nil
}
