package etcdserver

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/needed"
)

func TestATestWithoutEtcdIsSkipped(t *testing.T) {
	t.Parallel()
	for _, start := range []func(t needed.TB, c Config){
		func(t needed.TB, c Config) { ForTest(t, c) },
		func(t needed.TB, c Config) { ClusterForTest(t, 3, c) },
	} {
		var f needed.Fake
		f.Run(func(t needed.TB) { start(t, Config{Program: "no-such-program"}) })
		if f.Failed() != needed.Servers() || !f.Said(": "+ErrMissing.Error()) {
			t.Errorf("the test heard %v", f)
		}
	}
}

func TestATestEndsItsServersAndShowsTheLogIfItFails(t *testing.T) {
	t.Parallel()
	ForTest(t, Config{Volatile: true}) // skips the test if there is no etcd
	var f needed.Fake
	var s *Server
	f.Run(func(t needed.TB) {
		s = ForTest(t, Config{Volatile: true})
		t.Fatalf("on purpose")
	})
	if s.PID() != 0 || !f.Said("its log ends with") {
		t.Errorf("process %d, the test heard %v", s.PID(), f)
	}
}
