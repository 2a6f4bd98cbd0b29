//go:build long

package torture

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/redis/redlock"
)

// Six clients take three names on five servers, while servers crash and freeze, and the networks of three clients and of the three others break in all
// ways, but seldom for more than two servers at once.
func TestHistoriesOfAQuorumWithFaults(t *testing.T) {
	t.Parallel()
	servers := fiveServers(t, "appendonly yes", "appendfsync always")
	r := trial{names: 3, ttl: time.Second, lasting: 10 * time.Second, enough: 200}
	r.harm = []harm{{
		do:    func(chance *rand.Rand) func() { return lose(t, servers[chance.IntN(len(servers))], chance.IntN(2)) },
		least: 50 * time.Millisecond, more: 400 * time.Millisecond, rest: time.Second,
	}}
	for range 2 {
		n := networkTo(t, servers)
		for range 3 {
			r.clients = append(r.clients, openRedlock(t, n.addresses(), redlock.WithNodeTimeout(time.Second)))
		}
		r.harm = append(r.harm, harm{
			do: func(chance *rand.Rand) func() {
				hit := chance.Perm(len(n))[:1+chance.IntN(2)]
				if chance.IntN(16) == 0 {
					hit = chance.Perm(len(n))[:3]
				}
				return n.harm(faults[chance.IntN(len(faults))], hit...)
			},
			least: 50 * time.Millisecond, more: 400 * time.Millisecond, rest: 600 * time.Millisecond,
		})
	}
	r.run(t)
}
