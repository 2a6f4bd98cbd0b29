package torture

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// Four clients take two names on a cluster, while its leaders, and sometimes others, crash and freeze, and the network of half of the clients breaks
// in all ways. What they saw is checked afterwards: one at a time has a name, and tokens grow.
func TestHistoriesOfAClusterWithFaults(t *testing.T) {
	t.Parallel()
	const (
		clients = 4
		ttl     = time.Second
		lasting = 8 * time.Second
		enough  = 100 // steps; on a slow machine they take longer
	)
	names := []string{"a", "b"}
	histories := map[string]*history{}
	for _, name := range names {
		histories[name] = &history{}
	}
	c := etcdserver.ClusterForTest(t, 3, hasty)
	var far network
	for _, address := range c.Addrs() {
		far = append(far, linkTo(t, address))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*lasting)
	defer cancel()
	began := time.Now()
	var work sync.WaitGroup
	for i := range clients {
		addresses := c.Addrs()
		if i%2 == 1 {
			addresses = far.addresses()
		}
		client := openEtcd(t, addresses...)
		work.Go(func() { workOn(ctx, t, client, i+1, ttl, names, histories) })
	}
	work.Go(func() { // links
		chance := rand.New(rand.NewPCG(4, 5))
		for ctx.Err() == nil {
			mend := far.harm(faults[chance.IntN(len(faults))], chance.Perm(len(far))[:1+chance.IntN(len(far))]...)
			pause(ctx, time.Duration(50+chance.IntN(1000))*time.Millisecond)
			mend()
			pause(ctx, time.Duration(chance.IntN(1000))*time.Millisecond)
		}
	})
	chance := rand.New(rand.NewPCG(1, 2)) // servers
	for ctx.Err() == nil && (time.Since(began) < lasting || steps(histories) < enough) {
		s, err := c.Leader()
		if err != nil {
			t.Error(err)
			break
		}
		if chance.IntN(4) == 0 {
			s = c.Members[chance.IntN(len(c.Members))]
		}
		mend := loseEtcd(t, s, chance.IntN(2))
		pause(ctx, time.Duration(100+chance.IntN(2000))*time.Millisecond) // some are gone long enough for an election, and some are not
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
