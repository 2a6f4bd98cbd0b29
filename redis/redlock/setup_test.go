package redlock_test

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// servers starts independent servers.
func servers(t *testing.T, n int) (all []*redisserver.Server) {
	t.Helper()
	for range n {
		all = append(all, redisserver.ForTest(t, redisserver.Config{}))
	}
	return all
}

func addresses(servers []*redisserver.Server) (all []string) {
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return all
}

// clients returns a client for each address. The test closes them.
func clients(t *testing.T, addresses []string) (all []goredis.UniversalClient) {
	t.Helper()
	for _, address := range addresses {
		// The client has no timeout of its own: the engine has to end its requests.
		c := goredis.NewClient(&goredis.Options{Addr: address, ContextTimeoutEnabled: true, DialerRetries: 1,
			ReadTimeout: -1})
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Errorf("closing the client: %v", err)
			}
		})
		all = append(all, c)
	}
	return all
}

// open opens an engine for a test, which closes it. The servers of tests were started a moment ago, so they
// vote at once only because there is no guard.
func open(t *testing.T, addresses []string, opts ...redlock.Option) *redlock.Engine {
	t.Helper()
	return openGuarded(t, addresses, append(opts, redlock.WithNodes(redis.WithoutFailoverGuard()))...)
}

func openGuarded(t *testing.T, addresses []string, opts ...redlock.Option) *redlock.Engine {
	t.Helper()
	e, err := redlock.New(t.Context(), clients(t, addresses), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return e
}

// patient is for tests that are not about time: the machine may be busy.
var patient = redlock.WithNodeTimeout(5 * time.Second)

// maxNodeTimeout is for tests that hold requests back while something else happens. It is the longest time allowed.
var maxNodeTimeout = redlock.WithNodeTimeout(10 * time.Second)

// patience is how long a test waits for what must happen.
const patience = time.Minute
