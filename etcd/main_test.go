package etcd_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// parallelTests is how many tests run at the same time, unless -parallel says otherwise. They mostly wait for leases to
// expire, and for servers.
const parallelTests = "16"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", parallelTests); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
