//go:build !race

// The client of ZooKeeper reads a number without its lock when it connects again, which the race detector sees now and then under as many faults as here. It does no harm:
// what the client may have missed by that, the engine looks for itself. So this test runs without the detector.

package torture

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// Four clients take two names on an ensemble, while its leaders, and sometimes others, crash and freeze. What they saw is checked afterwards: one at
// a time has a name, and tokens grow.
func TestHistoriesOfAnEnsembleWithFaults(t *testing.T) {
	t.Parallel()
	const (
		clients = 4
		timeout = 6 * time.Second // of which a lease lasts two fifths at most
		ttl     = 2 * time.Second
		lasting = 8 * time.Second
		enough  = 100 // steps; on a slow machine they take longer
	)
	names := []string{"a", "b"}
	histories := map[string]*history{}
	for _, name := range names {
		histories[name] = &history{}
	}
	e := zookeeperserver.EnsembleForTest(t, 3, brisk)
	ctx, cancel := context.WithTimeout(t.Context(), 4*lasting)
	defer cancel()
	var work sync.WaitGroup
	for i := range clients {
		c := openZooKeeper(t, timeout, e.Addrs()...)
		work.Go(func() { workOn(ctx, t, c, i+1, ttl, names, histories) })
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for began := time.Now(); ctx.Err() == nil && (time.Since(began) < lasting || steps(histories) < enough); {
		s, err := e.AwaitLeader()
		if err != nil {
			t.Error(err)
			break
		}
		if chance.IntN(4) == 0 {
			s = e.Servers[chance.IntN(len(e.Servers))]
		}
		mend := harmZooKeeper(t, s, chance.IntN(2))
		pause(ctx, time.Duration(100+chance.IntN(1200))*time.Millisecond) // some are gone long enough for an election, and some are not
		mend()
		pause(ctx, time.Duration(chance.IntN(800))*time.Millisecond)
	}
	cancel()
	work.Wait()
	for name, h := range histories {
		if got := porcupine.CheckOperationsTimeout(oneHolder, h.steps, time.Minute); got != porcupine.Ok { // Unknown is no better than Illegal
			t.Errorf("the history of %s is %v", name, got)
		}
	}
	if n := steps(histories); n < enough {
		t.Errorf("only %d steps: nothing is shown", n)
	} else {
		t.Logf("%d steps", n)
	}
}

// harmZooKeeper does something to one server, and returns what undoes it.
func harmZooKeeper(t *testing.T, s *zookeeperserver.Server, how int) (mend func()) {
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	if how == 0 {
		check(s.Pause())
		return func() { check(s.Resume()) }
	}
	s.Kill() // it has written down all it has said
	return func() { check(s.Restart()) }
}
