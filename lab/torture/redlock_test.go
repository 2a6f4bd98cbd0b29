package torture

import (
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// openRedlock returns a client of the library on several servers that vote although they were
// started a moment ago.
func openRedlock(t *testing.T, addresses []string, opts ...redlock.Option) client {
	t.Helper()
	c := newClient(redlockOn(t, addresses, opts...), 5*time.Second)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Logf("closing the client: %v", err) // faults may have left errors behind
		}
	})
	return c
}

// redlockOn returns the engine of openRedlock.
func redlockOn(t *testing.T, addresses []string, opts ...redlock.Option) *redlock.Engine {
	t.Helper()
	var clients []goredis.UniversalClient
	for _, address := range addresses {
		clients = append(clients,
			goredis.NewClient(&goredis.Options{Addr: address, ContextTimeoutEnabled: true, DialerRetries: 1}))
	}
	opts = append([]redlock.Option{redlock.WithNodeTimeout(2 * time.Second),
		redlock.WithNodes(redis.WithoutFailoverGuard())}, opts...)
	e, err := redlock.New(t.Context(), clients, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := e.Close()
		for _, c := range clients {
			err = errors.Join(err, c.Close())
		}
		if err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return e
}

// await waits until a condition is true.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
