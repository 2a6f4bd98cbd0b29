package work

import (
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/lib"
)

// Five are the workloads on five Redis servers of which a majority counts.
var Five = []Workload{
	{
		Name:      "five",
		About:     "five nodes: one goroutine locks and releases a free name",
		Libraries: lib.Five,
		Full:      Plan{Rounds: 61, Warm: time.Second / 4, Round: 30 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 9, Warm: 50 * time.Millisecond, Round: 30 * time.Millisecond, Size: 1},
		Main:      pairs, Base: "floor five",
		Open: openFree,
	},
	{
		Name:      "five-many",
		About:     "five nodes: 64 goroutines of one process, each with a name of its own",
		Libraries: lib.Five,
		Full:      Plan{Rounds: 31, Warm: time.Second / 4, Round: 100 * time.Millisecond, Size: 64},
		Short:     Plan{Rounds: 5, Warm: 100 * time.Millisecond, Round: 80 * time.Millisecond, Size: 64},
		Main:      pairs, Base: "floor five",
		Open: openMany,
	},
	{
		Name:      "five-stopped",
		About:     "five nodes: one goroutine locks and releases a free name while the process of one node stands still (SIGSTOP)",
		Libraries: lib.Five,
		Full:      Plan{Rounds: 9, Warm: 100 * time.Millisecond, Round: 500 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 1, Round: 200 * time.Millisecond, Size: 1},
		Main:      "p50", Base: "floor five",
		Open: openStopped,
	},
	{
		Name:      "five-blackholed",
		About:     "five nodes: one goroutine locks and releases a free name while all bytes to and from one node vanish",
		Libraries: lib.Five,
		Full:      Plan{Rounds: 9, Warm: 100 * time.Millisecond, Round: 500 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 1, Round: 200 * time.Millisecond, Size: 1},
		Main:      "p50", Base: "floor five",
		Open: openBlackholed,
	},
}

// All are the workloads in the order in which they run.
var All = append(Redis[:len(Redis):len(Redis)], Five...)
