//go:build long

package work

import (
	"slices"
	"testing"
)

// Every workload runs with every library, and yields all figures that targets need. Libraries on
// the same server share it, as it takes long to start.
func TestWorkloadsRunAndTargetsFindTheirFigures(t *testing.T) {
	t.Parallel()
	for _, w := range slices.Concat(Redis, Redisson, Five) {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			checkFigures(t, runner(t), w)
		})
	}
	for _, together := range [][]Workload{Postgres, Etcd, ZooKeeper} {
		t.Run(together[0].Name, func(t *testing.T) {
			t.Parallel()
			r := runnerWithoutRedis(t)
			for _, w := range together {
				checkFigures(t, r, w)
			}
		})
	}
}
