package place

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/internal/postgresserver"
)

// Postgres is one PostgreSQL server. Whoever connects to it is the superuser postgres, without a password.
type Postgres struct {
	own     *postgresserver.Server
	version string
	conn    *pgx.Conn
	spent   map[int]time.Duration // by each process that was ever seen
}

// postgresSettings put back what PostgreSQL has by default, where a server for tests is small. Each of many clients has connections of its own.
var postgresSettings = []string{"max_connections=400", "shared_buffers=128MB", "autovacuum=on"}

// OpenPostgres starts a server.
func OpenPostgres(ctx context.Context) (_ *Postgres, err error) {
	p := &Postgres{spent: map[int]time.Duration{}}
	if p.own, err = postgresserver.StartWith(postgresserver.Config{TCP: true, OnDisk: true, Settings: postgresSettings}); err != nil {
		return nil, err
	}
	if p.conn, err = pgx.Connect(ctx, p.own.URL()); err == nil {
		err = p.conn.QueryRow(ctx, "SHOW server_version").Scan(&p.version)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the PostgreSQL that was started does not answer: %w", err), p.Close())
	}
	return p, nil
}

// Addrs returns the one address.
func (p *Postgres) Addrs() []string { return []string{p.own.Addr()} }

// About says which server it is.
func (p *Postgres) About() About {
	return About{OnePostgres, "PostgreSQL " + p.version, "started for the benchmark: loopback, default durability: each commit to a logged table is synced to " +
		disk() + " before it is answered; max_connections 400, else defaults"}
}

// Load reads the processor time of the server's processes. PostgreSQL counts no statements by itself, and of transactions only those that touch tables.
func (p *Postgres) Load(ctx context.Context) (Load, error) {
	var processes []int
	if err := p.conn.QueryRow(ctx, "SELECT array_agg(pid) FROM pg_stat_activity").Scan(&processes); err != nil {
		return Load{}, err
	}
	l := Load{Commands: math.NaN()}
	for _, pid := range processes {
		p.spent[pid] = max(p.spent[pid], processorTime(pid))
	}
	for _, d := range p.spent {
		l.CPU += d
	}
	return l, nil
}

// Sweep deletes the rows of tables of the benchmark that have mark in their names. Leasehold leaves none behind.
func (p *Postgres) Sweep(ctx context.Context, mark string) error {
	for _, table := range []string{"bench_pglock", "bench_floor"} {
		var there bool
		if err := p.conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", table).Scan(&there); err != nil {
			return err
		}
		if !there {
			continue
		}
		if _, err := p.conn.Exec(ctx, "DELETE FROM "+table+" WHERE strpos(name, $1) > 0", mark); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the server and removes its folder.
func (p *Postgres) Close() error {
	var err error
	if p.conn != nil {
		err = p.conn.Close(context.Background())
	}
	return errors.Join(err, p.own.Close())
}
