package fencing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisfence"
)

// cell is a value with a mark in a store. Each step is atomic by itself.
type cell interface {
	// The right steps: each raises the mark.
	raise(ctx context.Context, token uint64) error
	read(ctx context.Context, token uint64) (string, error)
	write(ctx context.Context, token uint64, value string) error

	// The wrong steps.
	raiseAnyhow(ctx context.Context, token uint64) error // sets any token, up or down
	readAnyhow(ctx context.Context) (string, error)      // without the mark
	writeAnyhow(ctx context.Context, value string) error // without the mark
}

// program returns the steps of a writer on a cell.
type program func(ctx context.Context, c cell, token uint64, letter string) []step

// programs are the right program, and likely mistakes.
var programs = map[string]struct {
	right bool
	steps program
}{
	"raise, read, write": {true, func(ctx context.Context, c cell, token uint64, letter string) []step {
		var v string
		return []step{
			{raises, func() error { return c.raise(ctx, token) }},
			{reads, func() (err error) { v, err = c.read(ctx, token); return err }},
			{writes, func() error { return c.write(ctx, token, v+letter) }},
		}
	}},
	"raise and read in one step, write": {true, func(ctx context.Context, c cell, token uint64, letter string) []step {
		var v string
		return []step{
			{raises, func() (err error) { v, err = c.read(ctx, token); return err }},
			{writes, func() error { return c.write(ctx, token, v+letter) }},
		}
	}},
	"raise without a condition": {false, func(ctx context.Context, c cell, token uint64, letter string) []step {
		var v string
		return []step{
			{raises, func() error { return c.raiseAnyhow(ctx, token) }},
			{reads, func() (err error) { v, err = c.read(ctx, token); return err }},
			{writes, func() error { return c.write(ctx, token, v+letter) }},
		}
	}},
	"raise after reading": {false, func(ctx context.Context, c cell, token uint64, letter string) []step {
		var v string
		return []step{
			{reads, func() (err error) { v, err = c.readAnyhow(ctx); return err }},
			{raises, func() error { return c.raise(ctx, token) }},
			{writes, func() error { return c.write(ctx, token, v+letter) }},
		}
	}},
	"read, then write with the check, without raising before": {false,
		func(ctx context.Context, c cell, token uint64, letter string) []step {
			var v string
			return []step{
				{reads, func() (err error) { v, err = c.readAnyhow(ctx); return err }},
				{writes, func() error { return c.write(ctx, token, v+letter) }},
			}
		}},
	"write before raising": {false, func(ctx context.Context, c cell, token uint64, letter string) []step {
		var v string
		return []step{
			{reads, func() (err error) { v, err = c.readAnyhow(ctx); return err }},
			{writes, func() error { return c.writeAnyhow(ctx, v+letter) }},
			{raises, func() error { return c.raise(ctx, token) }},
		}
	}},
	"write without the check": {false, func(ctx context.Context, c cell, token uint64, letter string) []step {
		var v string
		return []step{
			{raises, func() error { return c.raise(ctx, token) }},
			{reads, func() (err error) { v, err = c.read(ctx, token); return err }},
			{writes, func() error { return c.writeAnyhow(ctx, v+letter) }},
		}
	}},
	"no mark at all": {false, func(ctx context.Context, c cell, _ uint64, letter string) []step {
		var v string
		return []step{
			{reads, func() (err error) { v, err = c.readAnyhow(ctx); return err }},
			{writes, func() error { return c.writeAnyhow(ctx, v+letter) }},
		}
	}},
}

// A stale write that races with the new holder's is refused in every order of their steps, on every
// store, and each of the mistakes is found in at least one order.
func TestEveryOrderOfSteps(t *testing.T) {
	t.Parallel()
	for store, open := range map[string]func(t *testing.T) func() cell{
		"memory":             memoryCells,
		"PostgreSQL, column": func(t *testing.T) func() cell { return columnCells(t, openPostgres(t)) },
		"PostgreSQL, table":  func(t *testing.T) func() cell { return tableCells(t, openPostgres(t)) },
		"SQLite, column":     func(t *testing.T) func() cell { return columnCells(t, openSQLite(t, waits)) },
		"SQLite, table":      func(t *testing.T) func() cell { return tableCells(t, openSQLite(t, waits)) },
		"Redis, key":         func(t *testing.T) func() cell { return redisCells(t, "") },
		"Redis, field":       func(t *testing.T) func() cell { return redisCells(t, "fence") },
	} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			fresh := open(t)
			for name, p := range programs {
				t.Run(name, func(t *testing.T) {
					var c cell
					build := func() (w [writers]*writer) {
						c = fresh()
						for who := range w {
							w[who] = &writer{steps: p.steps(t.Context(), c, tokenOf(who), marksOf[who]),
								abort: func() {}}
						}
						return w
					}
					explore(t, effortFor(p.right), build, func() string {
						v, err := c.readAnyhow(t.Context())
						noErr(t, err)
						return v
					}).expect(t, p.right)
				})
			}
		})
	}
}

// memoryCell is a value in this process, behind a gate.
type memoryCell struct {
	gate  *fence.Gate
	marks *fence.Memory
	value string
}

func memoryCells(*testing.T) func() cell {
	return func() cell {
		m := new(fence.Memory)
		return &memoryCell{gate: fence.NewGate(m), marks: m}
	}
}

func (c *memoryCell) do(ctx context.Context, token uint64, fn func()) error {
	return c.gate.Do(ctx, "a", token, func(context.Context) error { fn(); return nil })
}

func (c *memoryCell) raise(ctx context.Context, token uint64) error {
	return c.do(ctx, token, func() {})
}

func (c *memoryCell) read(ctx context.Context, token uint64) (v string, err error) {
	err = c.do(ctx, token, func() { v = c.value })
	return v, err
}

func (c *memoryCell) write(ctx context.Context, token uint64, value string) error {
	return c.do(ctx, token, func() { c.value = value })
}

func (c *memoryCell) raiseAnyhow(ctx context.Context, token uint64) error {
	c.gate = fence.NewGate(new(fence.Memory))
	return c.gate.Do(ctx, "a", token, func(context.Context) error { return nil })
}

func (c *memoryCell) readAnyhow(context.Context) (string, error) { return c.value, nil }

func (c *memoryCell) writeAnyhow(_ context.Context, value string) error {
	c.value = value
	return nil
}

// rowCell is a row of the table account, with a mark in it or in a table beside it.
type rowCell struct {
	database
	id     int
	mark   fence.Mark
	anyhow string // sets the mark of $2 to $1
	key    any
}

func columnCells(t *testing.T, d database) func() cell {
	id := 0
	return func() cell {
		id++
		d.exec(t, "INSERT INTO account (id) VALUES ($1)", id)
		return &rowCell{d, id, account.Mark(id), "UPDATE account SET fence = $1 WHERE id = $2", id}
	}
}

func tableCells(t *testing.T, d database) func() cell {
	id := 0
	return func() cell {
		id++
		d.exec(t, "INSERT INTO account (id) VALUES ($1)", id)
		name := fmt.Sprint("account ", id)
		return &rowCell{d, id, marks.Mark(name), "INSERT INTO marks (token, name) VALUES ($1, $2) ON CONFLICT (name) " +
			"DO UPDATE SET token = excluded.token", name}
	}
}

const (
	readRow  = "SELECT value FROM account WHERE id = $1"
	writeRow = "UPDATE account SET value = $1 WHERE id = $2"
)

func (c *rowCell) raise(ctx context.Context, token uint64) error {
	return raise(ctx, c.database, c.mark, token)
}

func (c *rowCell) read(ctx context.Context, token uint64) (v string, err error) {
	err = fence.Do(ctx, c, c.mark, token, func(tx *fence.Guard) error {
		return tx.QueryRowContext(ctx, readRow, c.id).Scan(&v)
	})
	return v, err
}

func (c *rowCell) write(ctx context.Context, token uint64, value string) error {
	return fence.Do(ctx, c, c.mark, token,
		func(tx *fence.Guard) error { return written(tx.ExecContext(ctx, writeRow, value, c.id)) })
}

func (c *rowCell) raiseAnyhow(ctx context.Context, token uint64) error {
	return written(c.ExecContext(ctx, c.anyhow, int64(token), c.key))
}

func (c *rowCell) readAnyhow(ctx context.Context) (v string, err error) {
	err = c.QueryRowContext(ctx, readRow, c.id).Scan(&v)
	return v, err
}

func (c *rowCell) writeAnyhow(ctx context.Context, value string) error {
	return written(c.ExecContext(ctx, writeRow, value, c.id))
}

// written checks that a statement has changed one row.
func written(r sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	if err == nil && n != 1 {
		err = fmt.Errorf("%d rows were written, want 1", n)
	}
	return err
}

// redisCell is a field of a hash, with a mark in another field or in a key beside it.
type redisCell struct {
	client *goredis.Client
	mark   redisfence.Mark
	key    string
}

func openRedis(t *testing.T) *goredis.Client {
	t.Helper()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return c
}

func redisCells(t *testing.T, field string) func() cell {
	client, id := openRedis(t), 0
	return func() cell {
		id++
		c := &redisCell{client: client, key: fmt.Sprint("account:", id)}
		c.mark = redisfence.Beside(c.key)
		if field != "" {
			c.mark = redisfence.Mark{Key: c.key, Field: field}
		}
		return c
	}
}

func (c *redisCell) raise(ctx context.Context, token uint64) error {
	_, err := redisfence.Raise(ctx, c.client, c.mark, token)
	return err
}

func (c *redisCell) read(ctx context.Context, token uint64) (string, error) {
	g, err := redisfence.Raise(ctx, c.client, c.mark, token)
	if err != nil {
		return "", err
	}
	return orEmpty(g.HGet(ctx, c.key, "value"))
}

func (c *redisCell) write(ctx context.Context, token uint64, value string) error {
	g, err := redisfence.Raise(ctx, c.client, c.mark, token)
	if err != nil {
		return err
	}
	return g.HSet(ctx, c.key, "value", value)
}

func (c *redisCell) raiseAnyhow(ctx context.Context, token uint64) error {
	if c.mark.Field != "" {
		return c.client.HSet(ctx, c.mark.Key, c.mark.Field, token).Err()
	}
	return c.client.Set(ctx, c.mark.Key, token, 0).Err()
}

func (c *redisCell) readAnyhow(ctx context.Context) (string, error) {
	return orEmpty(c.client.HGet(ctx, c.key, "value").Result())
}

func (c *redisCell) writeAnyhow(ctx context.Context, value string) error {
	return c.client.HSet(ctx, c.key, "value", value).Err()
}

func orEmpty(s string, err error) (string, error) {
	if errors.Is(err, goredis.Nil) {
		return "", nil
	}
	return s, err
}
