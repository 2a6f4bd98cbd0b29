package fencing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/memory"
)

// A holder that was paused for too long is refused, though it does not know that it is late.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:example?mode=memory&cache=shared")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	marks := fence.Table{Name: "marks"}
	schema, err := marks.Schema()
	if err != nil {
		log.Fatal(err)
	}
	for _, statement := range []string{schema, "CREATE TABLE stock (id bigint PRIMARY KEY, units bigint)",
		"INSERT INTO stock VALUES (7, 10)"} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			log.Fatal(err)
		}
	}
	take := func(lease *leasehold.Lease) error {
		return fence.Do(ctx, db, marks.Mark(lease.Name()), lease.Token(), func(tx *fence.Guard) error {
			var units int
			if err := tx.QueryRowContext(ctx, "SELECT units FROM stock WHERE id = 7").Scan(&units); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "UPDATE stock SET units = $1 WHERE id = 7", units-1)
			return err
		})
	}

	engine := memory.New()
	client, other := leasehold.New(engine), leasehold.New(engine)
	defer client.Close()
	defer other.Close()
	old, err := client.Mutex("stock:7").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	// The old holder is paused. An operator takes the lock away from it, and the next holder works.
	if err := admin.New(engine).ForceRelease(ctx, driver.Lock, old.Name(), old.Token()); err != nil {
		log.Fatal(err)
	}
	next, err := other.Mutex("stock:7").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(old.Token() < next.Token())
	fmt.Println("next:", take(next))
	fmt.Println("old:", errors.Is(take(old), fence.ErrStale))
	// Output:
	// true
	// next: <nil>
	// old: true
}
