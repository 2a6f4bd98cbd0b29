//go:build long && (!race || quietzk)

// When it reconnects, the client of ZooKeeper reads a number without holding its lock, which the
// race detector sees from time to time under as many faults as here. It does no harm: the engine
// itself checks for what the client may have missed. So make race compiles the client without the
// detector, and says so with a tag.

package torture

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// Four clients take two names on an ensemble, while its leader, and sometimes another server,
// crashes or freezes.
func TestHistoriesOfAnEnsembleWithFaults(t *testing.T) {
	t.Parallel()
	e := zookeeperserver.EnsembleForTest(t, 3, fastTicks)
	r := trial{names: 2, ttl: 2 * time.Second, minLength: 8 * time.Second, minSteps: 100}
	for range 4 {
		// A lease lasts at most two fifths of that.
		r.clients = append(r.clients, openZooKeeper(t, 6*time.Second, e.Addrs()...))
	}
	r.disturbances = []disturbance{{
		start: func(chance *rand.Rand) func() {
			s, err := e.AwaitLeader()
			if err != nil {
				t.Error(err)
				return nil
			}
			if chance.IntN(4) == 0 {
				s = e.Servers[chance.IntN(len(e.Servers))]
			}
			return disturb(t, s, chance.IntN(2))
		},
		// Some are gone long enough for an election, and some are not.
		minLength: 100 * time.Millisecond, moreLength: 1200 * time.Millisecond, rest: 800 * time.Millisecond,
	}}
	r.run(t)
}
