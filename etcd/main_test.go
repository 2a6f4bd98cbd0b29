package etcd_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// together is how many tests run at the same time, unless -parallel says otherwise. They mostly wait: for leases to end, and for servers.
const together = "16"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
