package servers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/internal/postgresserver"
)

// Postgres is one PostgreSQL server. Every connection is that of the superuser postgres, without a
// password.
type Postgres struct {
	server  *postgresserver.Server
	version string
	conn    *pgx.Conn
	spent   map[int]time.Duration // by each process that was ever seen
}

// postgresSettings restores PostgreSQL's defaults where a server for tests is small. Each of many
// clients has its own connections.
var postgresSettings = []string{"max_connections=400", "shared_buffers=128MB", "autovacuum=on"}

// OpenPostgres starts a server.
func OpenPostgres(ctx context.Context) (_ *Postgres, err error) {
	p := &Postgres{spent: map[int]time.Duration{}}
	if p.server, err = postgresserver.StartWith(postgresserver.Config{TCP: true, OnDisk: true,
		Settings: postgresSettings}); err != nil {
		return nil, err
	}
	if p.conn, err = pgx.Connect(ctx, p.server.URL()); err == nil {
		err = p.conn.QueryRow(ctx, "SHOW server_version").Scan(&p.version)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the PostgreSQL that was started does not answer: %w", err), p.Close())
	}
	return p, nil
}

// Addrs returns the one address.
func (p *Postgres) Addrs() []string { return []string{p.server.Addr()} }

// Info says which server it is.
func (p *Postgres) Info() Info {
	return Info{OnePostgres, "PostgreSQL " + p.version,
		"started for the benchmark: loopback, default durability: each commit to a logged table is synced to " +
			disk() + " before it is answered; max_connections 400, else defaults"}
}

// Load reads the processor time of the server's processes. PostgreSQL itself counts no statements,
// and only those transactions that touch tables.
func (p *Postgres) Load(ctx context.Context) (Load, error) {
	var processes []int
	if err := p.conn.QueryRow(ctx, "SELECT array_agg(pid) FROM pg_stat_activity").Scan(&processes); err != nil {
		return Load{}, err
	}
	l := Load{Commands: math.NaN()}
	for _, pid := range processes {
		p.spent[pid] = max(p.spent[pid], ProcessorTime(pid))
	}
	for _, d := range p.spent {
		l.CPU += d
	}
	return l, nil
}

// RemoveKeys deletes the rows that have mark in their names from the benchmark's tables. Leasehold
// leaves none behind.
func (p *Postgres) RemoveKeys(ctx context.Context, mark string) error {
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
	return errors.Join(err, p.server.Close())
}
