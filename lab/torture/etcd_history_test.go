//go:build long

package torture

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// Four clients take two names on a cluster, while its leader, and sometimes another member, crashes
// or freezes, and the network of half of the clients breaks in all ways.
func TestHistoriesOfAClusterWithFaults(t *testing.T) {
	t.Parallel()
	c := etcdserver.ClusterForTest(t, 3, fastElection)
	var far network
	for _, address := range c.Addrs() {
		far = append(far, linkTo(t, address))
	}
	r := trial{names: 2, ttl: time.Second, minLength: 8 * time.Second, minSteps: 100}
	for range 2 {
		r.clients = append(r.clients, openEtcd(t, c.Addrs()...), openEtcd(t, far.addresses()...))
	}
	r.disturbances = []disturbance{{
		start: func(chance *rand.Rand) func() {
			s, err := c.Leader()
			if err != nil {
				t.Error(err)
				return nil
			}
			if chance.IntN(4) == 0 {
				s = c.Members[chance.IntN(len(c.Members))]
			}
			return disturb(t, s, chance.IntN(2))
		},
		// Some are gone long enough for an election, and some are not.
		minLength: 100 * time.Millisecond, moreLength: 2 * time.Second, rest: 800 * time.Millisecond,
	}, {
		start: func(chance *rand.Rand) func() {
			return far.apply(networkFaults[chance.IntN(len(networkFaults))],
				chance.Perm(len(far))[:1+chance.IntN(len(far))]...)
		},
		minLength: 50 * time.Millisecond, moreLength: time.Second, rest: time.Second,
	}}
	r.run(t)
}
