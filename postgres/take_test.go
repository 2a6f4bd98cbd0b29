package postgres_test

import (
	"context"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

// A take that waits for a row, and may already have drawn a token, gets a larger one than the owner that had the row
// meanwhile.
func TestTokensGrowOverAWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, meanwhile []string }{
		"that is changed": {
			before:    []string{"UPDATE holders SET token = nextval('tokens')"},
			meanwhile: []string{"UPDATE holders SET token = nextval('tokens')"},
		},
		"that is removed": {
			before:    []string{"UPDATE holders SET token = nextval('tokens')"},
			meanwhile: []string{"DELETE FROM holders"},
		},
		"that is new, and removed": {
			before: []string{"DELETE FROM holders", "COMMIT", "BEGIN",
				"INSERT INTO holders SELECT 1, 'a', 0, 0, 0, NULL, 0, 1, '-infinity', now(), here('origin'), " +
					"longest, '' FROM alive"},
			meanwhile: []string{"DELETE FROM holders"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, schema := newTables(t)
			e := open(t, pool, schema)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			r := lock("a")
			mustTake(t, e, r)
			mustRelease(t, e, r)
			conn, err := pool.Acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
			exec := func(queries ...string) {
				t.Helper()
				for _, query := range queries {
					if _, err := conn.Exec(ctx, query); err != nil {
						t.Fatalf("%s: %v", query, err)
					}
				}
			}
			exec("SET search_path = "+schema, "BEGIN")
			exec(c.before...)
			type outcome struct {
				grant driver.Grant
				err   error
			}
			got := make(chan outcome, 1)
			go func() {
				g, err := e.Take(ctx, lock("a"))
				got <- outcome{g, err}
			}()
			awaitTake(t, pool, schema, "transactionid")
			var meanwhile int64
			if err := conn.QueryRow(ctx, "SELECT nextval('tokens')").Scan(&meanwhile); err != nil {
				t.Fatal(err)
			}
			exec(c.meanwhile...)
			exec("COMMIT", "RESET search_path")
			if o := <-got; o.err != nil || o.grant.Token <= uint64(meanwhile) {
				t.Errorf("token %d, %v follows %d", o.grant.Token, o.err, meanwhile)
			}
		})
	}
}
