package fencing

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// together is how many tests run at the same time by default. They mostly wait: for leases to end,
// and for each other's locks.
const together = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(suite{m})
}

// suite ends the servers that tests share before the check for leaked goroutines.
type suite struct{ *testing.M }

func (s suite) Run() int {
	code := s.M.Run()
	if err := closeServers(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
