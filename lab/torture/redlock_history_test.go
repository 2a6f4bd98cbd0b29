//go:build long

package torture

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/redis/redlock"
)

// Six clients take three names on five servers, while servers crash and freeze. The networks of
// three clients and of the three others break in all ways, but rarely for more than two servers at
// once.
func TestHistoriesOfAQuorumWithFaults(t *testing.T) {
	t.Parallel()
	servers := fiveServers(t, "appendonly yes", "appendfsync always")
	r := trial{names: 3, ttl: time.Second, minLength: 10 * time.Second, minSteps: 200}
	r.disturbances = []disturbance{{
		start: func(chance *rand.Rand) func() {
			return disturb(t, servers[chance.IntN(len(servers))],
				chance.IntN(2))
		},
		minLength: 50 * time.Millisecond, moreLength: 400 * time.Millisecond, rest: time.Second,
	}}
	for range 2 {
		n := networkTo(t, servers)
		for range 3 {
			r.clients = append(r.clients, openRedlock(t, n.addresses(), redlock.WithNodeTimeout(time.Second)))
		}
		r.disturbances = append(r.disturbances, disturbance{
			start: func(chance *rand.Rand) func() {
				hit := chance.Perm(len(n))[:1+chance.IntN(2)]
				if chance.IntN(16) == 0 {
					hit = chance.Perm(len(n))[:3]
				}
				return n.apply(networkFaults[chance.IntN(len(networkFaults))], hit...)
			},
			minLength: 50 * time.Millisecond, moreLength: 400 * time.Millisecond, rest: 600 * time.Millisecond,
		})
	}
	r.run(t)
}
