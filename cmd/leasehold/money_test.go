//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

var errTooLittle = errors.New("there is too little on the account")

// pay is the example in docs/engines/postgres.md.
func pay(
	ctx context.Context, client *leasehold.Client, engine *postgres.Engine, pool *pgxpool.Pool, account int,
	price func(context.Context) (int64, error),
) error {
	lease, err := client.Mutex(fmt.Sprintf("account:%d", account)).Lock(ctx)
	if err != nil {
		return err
	}
	defer lease.Release()

	// This may take minutes. Nobody else begins meanwhile, and no transaction is open.
	cents, err := price(lease.Context())
	if err != nil {
		return err
	}

	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // does nothing after Commit
	if err := engine.Guard(ctx, tx, lease); err != nil {
		return err // postgres.ErrLeaseLost: it is too late, and nothing was written
	}
	var balance int64
	if err := tx.QueryRow(ctx, "SELECT balance FROM accounts WHERE id = $1", account).Scan(&balance); err != nil {
		return err
	}
	if balance < cents {
		return errTooLittle
	}
	if _, err := tx.Exec(ctx, "UPDATE accounts SET balance = $2 WHERE id = $1", account, balance-cents); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// The example in the documentation is the function above, and does what the text says: without the lock it changes
// nothing.
func TestMoney(t *testing.T) {
	t.Parallel()
	source, example := readText(t, "money_test.go"), readText(t, "../../docs/engines/postgres.md")
	_, source, _ = strings.Cut(source, "\nfunc pay(")
	source, _, _ = strings.Cut(source, "\n}\n")
	if !strings.Contains(example, "```go\nfunc pay("+source+"\n}\n```") {
		t.Error("docs/engines/postgres.md has another example")
	}

	s := postgresserver.ForTest(t, postgresserver.Config{})
	psql(t, s,
		"CREATE TABLE accounts (id integer PRIMARY KEY, balance bigint NOT NULL); INSERT INTO accounts VALUES (7, "+
			"1000)")
	engine, err := postgres.Open(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	pool, err := pgxpool.New(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	client := leasehold.New(engine)
	defer client.Close()
	ops := admin.New(engine)

	of := func(cents int64) func(context.Context) (int64, error) {
		return func(context.Context) (int64, error) { return cents, nil }
	}
	lost := func(ctx context.Context) (int64, error) {
		all, err := ops.Inspect(ctx, "account:7")
		if err != nil || len(all) != 1 || len(all[0].Holders) != 1 {
			return 0, fmt.Errorf("held by %+v: %w", all, err)
		}
		return 300, ops.ForceRelease(ctx, driver.Lock, "account:7", all[0].Holders[0].Token)
	}
	for _, step := range []struct {
		price   func(context.Context) (int64, error)
		want    error
		balance string
	}{
		{of(300), nil, "700"},
		{lost, postgres.ErrLeaseLost, "700"},
		{of(800), errTooLittle, "700"},
		{of(700), nil, "0"},
	} {
		if err := pay(t.Context(), client, engine, pool, 7, step.price); !errors.Is(err, step.want) {
			t.Errorf("paid with %v, want %v", err, step.want)
		}
		if balance, err := s.Ask("SELECT balance FROM accounts"); err != nil || balance != step.balance {
			t.Errorf("the balance is %s, want %s: %v", balance, step.balance, err)
		}
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
