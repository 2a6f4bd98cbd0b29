package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/memory"
)

// A database and a lease, as a program has them.
var (
	db    *sql.DB
	ctx   = context.Background()
	lease = func() *leasehold.Lease {
		l, err := leasehold.New(memory.New()).Mutex("stock:7").Lock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		return l
	}()
)

// Take one item from the stock. If another holder with a larger token has been there, nothing happens.
func ExampleDo() {
	marks := fence.Table{Name: "marks"}
	err := fence.Do(lease.Context(), db, marks.Mark(lease.Name()), lease.Token(), func(tx *fence.Guard) error {
		var left int
		if err := tx.QueryRowContext(ctx, "SELECT units FROM stock WHERE id = 7").Scan(&left); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE stock SET units = $1 WHERE id = 7", left-1)
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

// Work that takes several transactions begins each of them with the same token. The second one is refused if another
// holder was there in between.
func ExampleDo_severalTransactions() {
	mark := fence.Column{Table: "stock", Key: "id", Token: "fence"}.Mark(7)
	var left int
	err := fence.Do(lease.Context(), db, mark, lease.Token(), func(tx *fence.Guard) error {
		return tx.QueryRowContext(ctx, "SELECT units FROM stock WHERE id = 7").Scan(&left)
	})
	if err != nil {
		log.Fatal(err)
	}
	// … something that takes long, without an open transaction …
	err = fence.Do(lease.Context(), db, mark, lease.Token(), func(tx *fence.Guard) error {
		_, err := tx.ExecContext(ctx, "UPDATE stock SET units = $1 WHERE id = 7", left-1)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}

// In a transaction that is begun elsewhere, raise the mark first, before anything is read.
func ExampleRaise() {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback() // does nothing after a commit

	guard, err := fence.Raise(ctx, tx, fence.Table{Name: "marks"}.Mark(lease.Name()), lease.Token())
	if err != nil {
		log.Fatal(err) // errors.Is(err, fence.ErrStale)
	}
	if _, err := guard.ExecContext(ctx, "UPDATE stock SET units = units - 1 WHERE id = 7"); err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err) // it may have been committed
	}
}

// Work under several locks raises a mark for each of them, always in the same order: that of the names.
func ExampleGuard_Raise() {
	set, err := leasehold.New(memory.New()).LockAll(ctx, "account:1", "account:2")
	if err != nil {
		log.Fatal(err)
	}
	defer set.Release()
	leases := set.Leases() // sorted by name
	marks := fence.Table{Name: "marks"}
	err = fence.Do(set.Context(), db, marks.Mark(leases[0].Name()), leases[0].Token(), func(tx *fence.Guard) error {
		for _, l := range leases[1:] {
			if err := tx.Raise(ctx, marks.Mark(l.Name()), l.Token()); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx,
			"UPDATE account SET balance = balance + CASE id WHEN 1 THEN -10 ELSE 10 END WHERE id IN (1, 2)")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}

// The statement that makes the table, for PostgreSQL and SQLite.
func ExampleTable_Schema() {
	schema, err := fence.Table{Name: "marks"}.Schema()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(schema)
	// Output:
	// CREATE TABLE IF NOT EXISTS "marks" (
	//   name  text   NOT NULL PRIMARY KEY,
	//   token bigint NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991)
	// )
}

// The statement that adds the column to an existing table.
func ExampleColumn_Schema() {
	schema, err := fence.Column{Table: "stock", Key: "id", Token: "fence"}.Schema()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(schema)
	// Output:
	// ALTER TABLE "stock" ADD COLUMN "fence" bigint NOT NULL DEFAULT 0 CHECK ("fence" BETWEEN 0 AND 9007199254740991)
}

// The state of a machine is written as a whole, whatever it was before: the largest token writes last.
func ExampleVersioned_Write() {
	state := fence.Versioned{Table: "machine", Key: "id", Version: "version"}
	err := state.Write(ctx, db, 7, lease.Token(), fence.Values{"state": "running", "since": "2026-03-01"})
	switch {
	case errors.Is(err, fence.ErrStale):
		log.Print("a later holder has written already")
	case errors.Is(err, fence.ErrWritten):
		log.Print("it was this one, in an attempt whose answer was lost")
	case err != nil:
		log.Print(err)
	}
}

// Marks in this process.
func ExampleMemory() {
	var marks fence.Memory
	fmt.Println(marks.Raise(ctx, "stock:7", 42))
	fmt.Println(marks.Raise(ctx, "stock:7", 41))
	// Output:
	// <nil>
	// fence: token 41 for "stock:7" is too old, 42 has been there: stop, and take the lock again
}

// A holder that is refused learns which token was there.
func ExampleStaleError() {
	var marks fence.Memory
	_ = marks.Raise(ctx, "stock:7", 42)

	err := marks.Raise(ctx, "stock:7", 41)
	if stale, ok := errors.AsType[*fence.StaleError](err); ok {
		fmt.Println("too old:", stale.Want, "after", stale.Have)
	}
	// Output: too old: 41 after 42
}

// A gate orders the work on a device that cannot keep a mark. Marks in a database outlive the process.
func ExampleGate_Do() {
	gate := fence.NewGate(new(fence.Memory)) // or fence.DBMarks{DB: db, Table: fence.Table{Name: "marks"}}
	send := func(token uint64) {
		err := gate.Do(ctx, "printer", token, func(context.Context) error {
			fmt.Println("printing for", token)
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	send(42)
	send(41)
	// Output:
	// printing for 42
	// fence: token 41 for "printer" is too old, 42 has been there: stop, and take the lock again
}

// A server that refuses old tokens, and a client that sends its own.
func ExampleGate_Handler() {
	gate := fence.NewGate(new(fence.Memory))
	mux := http.NewServeMux()
	mux.Handle("PUT /orders/{id}", gate.Handler(
		func(r *http.Request) string { return "order:" + r.PathValue("id") },
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, token, _ := fence.FromContext(r.Context())
			fmt.Println("changed with", token)
		}),
	))
	server := httptest.NewServer(mux)
	defer server.Close()

	client := &http.Client{Transport: new(fence.Transport)}
	put := func(token uint64) {
		// fence.WithToken(lease.Context(), lease.Name(), lease.Token())
		ctx := fence.WithToken(ctx, "order:1001", token)
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL+"/orders/1001", nil)
		if err != nil {
			log.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			log.Fatal(err)
		}
		defer resp.Body.Close()
		if err := fence.FromResponse(resp); err != nil {
			fmt.Println(resp.StatusCode, err)
		}
	}
	put(42)
	put(41)
	// Output:
	// changed with 42
	// 412 fence: token 41 for "order:1001" is too old, 42 has been there: stop, and take the lock again
}

// A handler that writes to a database raises the mark there with the token of the request. That is safe with any number
// of servers.
func ExampleRequired() {
	marks := fence.Table{Name: "marks"}
	http.Handle("PUT /orders/{id}", fence.Required(
		func(r *http.Request) string { return "order:" + r.PathValue("id") },
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name, token, _ := fence.FromContext(r.Context())
			err := fence.Do(r.Context(), db, marks.Mark(name), token, func(tx *fence.Guard) error {
				_, err := tx.ExecContext(r.Context(), "UPDATE orders SET state = 'shipped' WHERE id = $1",
					r.PathValue("id"))
				return err
			})
			if err != nil {
				fence.Refuse(w, err) // 412 if the token is too old
			}
		}),
	))
}

// All requests of a client carry the lease of their context.
func ExampleTransport() {
	client := &http.Client{Transport: &fence.Transport{Base: http.DefaultTransport}}
	ctx := fence.WithToken(lease.Context(), lease.Name(), lease.Token())
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, "https://shop.example/orders/1001", nil)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		log.Fatal(err) // it may have been done
	}
	defer resp.Body.Close()
	if errors.Is(fence.FromResponse(resp), fence.ErrStale) {
		log.Print("somebody else has taken over")
	}
}
