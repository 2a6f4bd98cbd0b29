package pgxfence_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/postgres/pgxfence"
)

// A pool, and the token of a lease, as a program has them.
var (
	pool  *pgxpool.Pool
	ctx   = context.Background() // lease.Context()
	token uint64                 // lease.Token()
)

// Take one item from the stock. If another holder with a larger token has been there, nothing happens.
func ExampleDo() {
	marks := fence.Table{Name: "marks"}
	err := pgxfence.Do(ctx, pool, marks.Mark("stock:7"), token, func(tx *pgxfence.Guard) error {
		var left int
		if err := tx.QueryRow(ctx, "SELECT units FROM stock WHERE id = 7").Scan(&left); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE stock SET units = $1 WHERE id = 7", left-1)
		return err
	})
	switch {
	case errors.Is(err, fence.ErrStale):
		log.Print("somebody else has taken over: nothing was written")
	case errors.Is(err, fence.ErrUnknown):
		log.Print("the database did not answer: look whether it was written")
	case err != nil:
		log.Print(err)
	}
}

// In a transaction that is begun elsewhere, raise the mark first, before anything is read.
func ExampleRaise() {
	tx, err := pool.Begin(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after a commit

	guard, err := pgxfence.Raise(ctx, tx, fence.Table{Name: "marks"}.Mark("stock:7"), token)
	if err != nil {
		log.Fatal(err) // errors.Is(err, fence.ErrStale)
	}
	if _, err := guard.Exec(ctx, "UPDATE stock SET units = units - 1 WHERE id = 7"); err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		log.Fatal(err) // it may have been committed
	}
}

// The state of a machine is written as a whole, whatever it was before: the largest token writes last.
func ExampleWrite() {
	state := fence.Versioned{Table: "machine", Key: "id", Version: "version"}
	err := pgxfence.Write(ctx, pool, state, 7, token, fence.Values{"state": "running"})
	if errors.Is(err, fence.ErrStale) {
		log.Print("a later holder has written already")
	}
}

// A mark is checked before anything is sent.
func ExampleMarks() {
	marks := pgxfence.Marks{DB: pool, Table: fence.Table{Name: "marks"}}
	fmt.Println(marks.Raise(ctx, "valve:3", 0))
	// Output: fence: token 0 is not allowed: it must be 1 to 9007199254740991, as a lease has it
}
