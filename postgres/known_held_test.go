package postgres_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
)

// An engine connects to be notified when it has first to wait. The time of the take ends while that connection is
// made. It is known that the name is held: the server has said so before.
func TestHeldIsKnownWhenTheListenerCannotConnect(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	mustTake(t, open(t, pool, schema), lock("a"))
	config := pool.Config()
	config.MaxConns = 1
	hang := false
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if hang {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, network, address)
	}
	lone, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lone.Close)
	e := open(t, lone, schema)
	mustTake(t, e, lock("b"))
	hang = true // from now on, there is one connection
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r := lock("a")
	r.Join = true
	if _, err := e.Take(ctx, r); !driver.IsKnownHeld(err) || driver.IsNo(err) {
		t.Errorf("%v, known held: %v", err, driver.IsKnownHeld(err))
	}
}
