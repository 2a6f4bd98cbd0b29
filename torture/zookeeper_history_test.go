//go:build long && (!race || quietzk)

// The client of ZooKeeper reads a number without its lock when it connects again, which the race detector sees now and then under as many faults as here. It does no harm:
// what the client may have missed by that, the engine looks for itself. So make race compiles the client without the detector, and says so with a tag.

package torture

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// Four clients take two names on an ensemble, while its leaders, and sometimes others, crash and freeze.
func TestHistoriesOfAnEnsembleWithFaults(t *testing.T) {
	t.Parallel()
	e := zookeeperserver.EnsembleForTest(t, 3, brisk)
	r := trial{names: 2, ttl: 2 * time.Second, lasting: 8 * time.Second, enough: 100}
	for range 4 {
		r.clients = append(r.clients, openZooKeeper(t, 6*time.Second, e.Addrs()...)) // a lease lasts two fifths of that at most
	}
	r.harm = []harm{{
		do: func(chance *rand.Rand) func() {
			s, err := e.AwaitLeader()
			if err != nil {
				t.Error(err)
				return nil
			}
			if chance.IntN(4) == 0 {
				s = e.Servers[chance.IntN(len(e.Servers))]
			}
			return lose(t, s, chance.IntN(2))
		},
		least: 100 * time.Millisecond, more: 1200 * time.Millisecond, rest: 800 * time.Millisecond, // some are gone long enough for an election, and some are not
	}}
	r.run(t)
}
