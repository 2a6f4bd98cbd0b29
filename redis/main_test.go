package redis_test

import (
	"flag"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// parallelTests is how many tests run at the same time, unless -parallel says otherwise. They mostly wait: for leases
// to end, and for servers to notice what was done to others.
const parallelTests = "16"

func TestMain(m *testing.M) {
	if url := os.Getenv(silentVariable); url != "" {
		if err := useUntilItFails(url); err != nil {
			panic(err)
		}
		return
	}
	if err := flag.Set("test.parallel", parallelTests); err != nil {
		panic(err)
	}
	logging.Disable() // the client reports each server that the tests kill
	// The client tries for a second to reach a server that is gone, even if the client is closed meanwhile.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
