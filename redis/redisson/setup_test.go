package redisson_test

import (
	"flag"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// parallelTests is how many tests run at the same time, unless -parallel says otherwise. They mostly wait for leases to
// end.
const parallelTests = "16"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", parallelTests); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// newClient makes a client for a test, which closes it.
type newClient func(t *testing.T) goredis.UniversalClient

func closed[C goredis.UniversalClient](t *testing.T, c C) goredis.UniversalClient {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return c
}

func standalone(s *redisserver.Server) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true}))
	}
}

func cluster(c *redisserver.Cluster) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs()}))
	}
}

// open opens an engine for a test, which closes it.
func open(t *testing.T, client newClient, opts ...redisson.Option) *redisson.Engine {
	t.Helper()
	e, err := redisson.New(client(t), opts...)
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

// inTwoSlots reports whether Redisson would put the keys of a name into two slots of a Cluster.
func inTwoSlots(name string) bool {
	_, afterOpen, opens := strings.Cut(name, "{")
	tag, _, closes := strings.Cut(afterOpen, "}")
	switch {
	case opens && closes:
		return tag == "" // an empty hash tag counts as none: the whole of each key determines its slot
	case opens:
		return true // the same
	}
	return strings.Contains(name, "}") // it would end the hash tag early
}

// suite runs the conformance suite, with a client of its own for each engine, as other processes have. The prefixes
// keep locks, semaphores and latches of the same name apart.
func suite(t *testing.T, client newClient, refuses func(name string) bool, opts ...redisson.Option) {
	t.Helper()
	suiteWithout(t, nil, client, refuses, opts...)
}

// suiteWithout is suite without the checks of what the locks cannot do.
func suiteWithout(
	t *testing.T, lacks map[string]string, client newClient, refuses func(name string) bool, opts ...redisson.Option,
) {
	t.Helper()
	opts = append(opts, redisson.WithPrefix("n:"), redisson.WithSemaphorePrefix("s:"), redisson.WithLatchPrefix("l:"))
	drivertest.Run(t, drivertest.Harness{
		Start: func(*testing.T) drivertest.Environment {
			return drivertest.Environment{Open: func(t *testing.T) driver.Engine { return open(t, client, opts...) }}
		},
		Refuses: refuses,
		Lacks:   lacks,
	})
}
