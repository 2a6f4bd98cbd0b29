//go:build long

package torture

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// Four clients take two names on a cluster, while its leaders, and sometimes others, crash and freeze, and the network of half of the clients breaks
// in all ways.
func TestHistoriesOfAClusterWithFaults(t *testing.T) {
	t.Parallel()
	c := etcdserver.ClusterForTest(t, 3, hasty)
	var far network
	for _, address := range c.Addrs() {
		far = append(far, linkTo(t, address))
	}
	r := trial{names: 2, ttl: time.Second, lasting: 8 * time.Second, enough: 100}
	for range 2 {
		r.clients = append(r.clients, openEtcd(t, c.Addrs()...), openEtcd(t, far.addresses()...))
	}
	r.harm = []harm{{
		do: func(chance *rand.Rand) func() {
			s, err := c.Leader()
			if err != nil {
				t.Error(err)
				return nil
			}
			if chance.IntN(4) == 0 {
				s = c.Members[chance.IntN(len(c.Members))]
			}
			return lose(t, s, chance.IntN(2))
		},
		least: 100 * time.Millisecond, more: 2 * time.Second, rest: 800 * time.Millisecond, // some are gone long enough for an election, and some are not
	}, {
		do: func(chance *rand.Rand) func() {
			return far.harm(faults[chance.IntN(len(faults))], chance.Perm(len(far))[:1+chance.IntN(len(far))]...)
		},
		least: 50 * time.Millisecond, more: time.Second, rest: time.Second,
	}}
	r.run(t)
}
