package work

import (
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

// Redisson lists the workloads on locks of Redisson.
var Redisson = []Workload{
	{
		Name: "redisson-pair",
		About: "one thread or goroutine, with a context that never ends, locks and releases a free name, in Java and " +
			"in Go",
		Libraries: lib.RedissonPairs,
		Full:      Plan{Rounds: 61, Warm: 4 * time.Second, Round: 60 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 9, Warm: time.Second, Round: 40 * time.Millisecond, Size: 1},
		Main:      pairs, Base: "Java RLock",
		Open: openFree,
	},
	{
		Name: "redisson-crowd",
		About: "16 clients with connections of their own, in Java, in Go, or 8 of each, want one name again and " +
			"again, and hold it for 5 ms",
		Libraries: lib.RedissonCrowds,
		Full:      Plan{Rounds: 7, Warm: 2 * time.Second, Round: 1500 * time.Millisecond, Size: 16},
		Short:     Plan{Rounds: 1, Round: time.Second, Size: 16},
		Main:      handOvers, Base: "lock Java",
		Open: openLanguages,
	},
}
