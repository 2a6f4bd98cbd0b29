package zookeeperserver

import (
	"os"
	"testing"

	"github.com/leasehold-go/leasehold/internal/needed"
)

func TestFailedTestEndsItsServerAndShowsTheLog(t *testing.T) {
	t.Parallel()
	_, err := find(os.Getenv(Env))
	needed.Started(t, err, ErrMissing)
	var f needed.Fake
	var s *Server
	f.Run(func(t needed.TB) {
		s = ForTest(t, Config{})
		t.Fatalf("on purpose")
	})
	if s.PID() != 0 || !f.Said("its log ends with") {
		t.Errorf("process %d, the test heard %v", s.PID(), f)
	}
}
