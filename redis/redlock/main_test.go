package redlock_test

import (
	"flag"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// together is how many tests run at the same time, unless -parallel says otherwise. They mostly wait.
const together = "16"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	logging.Disable() // the client logs each server that the tests stop
	// The client tries for a second to reach a server that is gone, even if the client is closed meanwhile.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
