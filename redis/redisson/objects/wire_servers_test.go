package objects_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/redissonwire"
)

// ofServers are those of several objects in one file.
var ofServers = append(
	slices.DeleteFunc(slices.Concat(deviations, ofPrefixes), func(d redissonwire.Deviation) bool {
		return d.To == "END" || strings.Contains(d.Line, "zremrangebyscore") // of permits with a lease
	}),
	redissonwire.Deviation{Why: "Records of calls to an RSemaphore are ours.", Line: `^[kw] .*leasehold_semaphore:.*`},
)

// ofCluster are more of those: fair locks wait there.
var ofCluster = append(slices.Clone(ofServers), ofFair[4:]...)

// What was recorded of a real Redisson on a Cluster, where it publishes sharded messages, and on a master with a
// replica is played on objects: see [TestObjectsWriteWhatRedissonWrites].
func TestObjectsWriteWhatRedissonWritesOnSeveralServers(t *testing.T) {
	t.Parallel()
	for file, recorded := range map[string]struct {
		start      func(t *testing.T) (redissonwire.Side, []*redisserver.Server)
		deviations []redissonwire.Deviation
		leftOut    []string
	}{
		"cluster/cluster": {func(t *testing.T) (redissonwire.Side, []*redisserver.Server) {
			c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
			return newWireSide(t, c.Nodes[0], c.Addrs()[1:]...), c.Nodes
		}, ofCluster, []string{
			"a semaphore whose permits expire",        // as on a single server: see package redisson
			"names that Redisson puts into two slots", // are refused
		}},
		"replicated/replicated": {func(t *testing.T) (redissonwire.Side, []*redisserver.Server) {
			r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
			return newWireSide(t, r.Master), []*redisserver.Server{r.Master}
		}, ofServers, []string{"a semaphore whose permits expire"}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			setup := func() (redissonwire.Side, []*redisserver.Server) { return recorded.start(t) }
			w := redissonwire.NewRewriter(recorded.deviations)
			redissonwire.Play(t, "../testdata/wire/"+file+".txt", setup, redissonwire.Options{
				Parts:   func(title string) bool { return !slices.Contains(recorded.leftOut, title) },
				Rewrite: w.Rewrite,
			})
			w.CheckUsed(t)
		})
	}
}
