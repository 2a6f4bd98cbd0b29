package redisserver

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/needed"
)

func TestMissingRedisSkips(t *testing.T) {
	t.Parallel()
	var f needed.Fake
	f.Run(func(t needed.TB) { ForTest(t, Config{Program: "no-such-program"}) })
	if f.Failed() != needed.Servers() || !f.Said(": "+ErrMissing.Error()) {
		t.Errorf("the test heard %v", f)
	}
}

func TestFailedTestEndsItsServerAndShowsTheLog(t *testing.T) {
	t.Parallel()
	ForTest(t, Config{}) // skips the test if there is no Redis
	var f needed.Fake
	var s *Server
	f.Run(func(t needed.TB) {
		s = ForTest(t, Config{})
		t.Fatalf("on purpose")
	})
	if s.PID() != 0 || !f.Said("Ready to accept connections") {
		t.Errorf("process %d, the test heard %v", s.PID(), f)
	}
}
