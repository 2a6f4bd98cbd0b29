package work

import (
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

// Five lists the workloads on five Redis servers, of which a majority decides.
var Five = slices.Concat([]Workload{
	{
		Name:      "five",
		About:     "five nodes: one goroutine locks and releases a free name",
		Libraries: lib.Five,
		Full:      Plan{Rounds: 121, Others: 15, Warm: time.Second / 4, Round: 30 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 21, Others: 5, Warm: 50 * time.Millisecond, Round: 30 * time.Millisecond, Size: 1},
		Main:      pairs, Base: "floor five",
		Open: openFree,
	},
	{
		Name:      "five-many",
		About:     "five nodes: 64 goroutines of one process, each with a name of its own",
		Libraries: lib.Five,
		Full:      Plan{Rounds: 81, Others: 9, Warm: time.Second / 4, Round: 60 * time.Millisecond, Size: 64},
		Short:     Plan{Rounds: 9, Others: 5, Warm: 100 * time.Millisecond, Round: 60 * time.Millisecond, Size: 64},
		Main:      pairs, Base: "floor five",
		Open: openMany,
	},
	{
		Name: "five-crowd",
		About: "five nodes: 16 clients with connections of their own want one name again and again, and hold it " +
			"for 5 ms",
		Libraries: lib.WaitingOnFive,
		Full:      Plan{Rounds: 5, Others: 2, Round: 2 * time.Second, Size: 16},
		Short:     Plan{Rounds: 1, Round: time.Second, Size: 16},
		Main:      handOvers, Base: "leasehold five",
		Open: openFiveContention,
	},
	{
		Name: "five-stopped",
		About: "five nodes: one goroutine locks and releases a free name while the process of one node stands " +
			"still (SIGSTOP), after as long while all were well",
		Libraries: lib.Five,
		Full:      Plan{Rounds: 181, Others: 5, Warm: 50 * time.Millisecond, Round: 60 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 7, Others: 1, Round: 60 * time.Millisecond, Size: 1},
		Main:      "p50", Base: "floor five",
		Open: openStopped,
	},
	{
		Name: "five-blackholed",
		About: "five nodes: one goroutine locks and releases a free name while all bytes to and from one node " +
			"vanish, after as long while all were well",
		Libraries: lib.Five,
		Full:      Plan{Rounds: 181, Others: 5, Warm: 50 * time.Millisecond, Round: 60 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 7, Others: 1, Round: 60 * time.Millisecond, Size: 1},
		Main:      "p50", Base: "floor five",
		Open: openBlackholed,
	},
}, turnWorkloads("five", "five nodes: ", "leasehold five", lib.WaitingOnFive, 32, 100))
