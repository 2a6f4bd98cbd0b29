package work

import (
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
)

// lingering lists the workloads in which a client may keep locks, or may release them later.
var lingering = []Workload{
	{
		Name:      "free-later",
		About:     "as free, with releases that nobody waits for",
		Libraries: lib.Later,
		Full:      Plan{Rounds: 61, Others: 15, Warm: time.Second / 8, Round: 25 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 21, Others: 9, Warm: 50 * time.Millisecond, Round: 20 * time.Millisecond, Size: 1},
		Main:      pairs, Base: "floor",
		Open: openFree,
	},
	{
		Name:      "again",
		About:     "one goroutine locks and releases one name again and again, and the client may keep it meanwhile",
		Libraries: lib.Again,
		Full:      Plan{Rounds: 21, Others: 9, Warm: time.Second / 4, Round: 100 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 5, Warm: 50 * time.Millisecond, Round: 50 * time.Millisecond, Size: 1},
		Main:      pairs, Base: "leasehold",
		Open: openAgain,
	},
	{
		Name: "sticky",
		About: "8 clients with connections of their own want their own 1,000 names again and again, in one turn of a " +
			"hundred one of another client's, and release them at once",
		Libraries: lib.Sticky,
		Full: Plan{Rounds: 11, Warm: 2 * time.Second, Round: 500 * time.Millisecond, Size: turnClients,
			Names: 1000},
		Short: Plan{Rounds: 3, Warm: time.Second, Round: 300 * time.Millisecond, Size: turnClients, Names: 1000},
		Main:  turnRate, Base: "leasehold",
		Open: openSticky,
	},
	{
		Name:      "recall",
		About:     "a client wants names one by one that another client has used, and may have kept",
		Libraries: lib.Recall,
		Full:      Plan{Rounds: 9, Warm: time.Second / 4, Round: 400 * time.Millisecond, Size: 2, Names: 50},
		Short:     Plan{Rounds: 3, Round: 200 * time.Millisecond, Size: 2, Names: 50},
		Main:      recallP50, Base: "leasehold",
		Open: openRecall,
	},
}

// lingeringTargets are the targets for these workloads.
var lingeringTargets = []Target{
	{Workload: "free-later", Claim: "time of a pair, to that of the floor", Bound: atMost(0.6),
		Value: func(f *Finder) stat.Summary {
			return stat.Ratio(f.of("floor", pairs), f.of("leasehold later", pairs))
		}},
	{Workload: "again", Claim: "pairs/s", Bound: atLeast(500_000), Absolute: true,
		Value: figure("leasehold linger", pairs)},
	{Workload: "sticky", Claim: "turns/s, to those of the best peer", Bound: atLeast(10),
		Value: toBestPeerOf("leasehold linger", turnRate)},
	{Workload: "recall", Claim: "p50 of a Lock, ms", Bound: atMost(1), Absolute: true,
		Value: figure("leasehold linger", recallP50)},
	{Workload: "recall", Claim: "p50 of a TryLock, ms", Bound: atMost(1), Absolute: true,
		Value: figure("leasehold linger", recallTryP50)},
}
