package work

import (
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

// Redis lists the workloads on one Redis server. Where a ratio is wanted, rounds are short and
// many, because the load on the machine changes from one moment to the next.
var Redis = slices.Concat([]Workload{
	{
		Name:      "free",
		About:     "one goroutine, with a context that never ends, locks and releases a free name",
		Libraries: lib.Redis,
		Full:      Plan{Rounds: 151, Others: 15, Warm: time.Second / 4, Round: 25 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 41, Others: 9, Warm: 50 * time.Millisecond, Round: 20 * time.Millisecond, Size: 1},
		Main:      pairs, Base: "floor",
		Open: openFree,
	},
	{
		Name:      "ending",
		About:     "as free, with a context that can be cancelled",
		Libraries: lib.Redis,
		Full:      Plan{Rounds: 61, Others: 15, Warm: time.Second / 8, Round: 25 * time.Millisecond, Size: 1},
		Short:     Plan{Rounds: 21, Others: 9, Warm: 50 * time.Millisecond, Round: 20 * time.Millisecond, Size: 1},
		Main:      pairs, Base: "floor",
		Open: openFreeEnding,
	},
	{
		Name:      "many",
		About:     "256 goroutines of one process, each with a name of its own",
		Libraries: lib.Redis,
		Full:      Plan{Rounds: 61, Others: 9, Warm: time.Second / 4, Round: 60 * time.Millisecond, Size: 256},
		Short:     Plan{Rounds: 11, Others: 5, Warm: time.Second / 10, Round: 50 * time.Millisecond, Size: 256},
		Main:      pairs, Base: "floor",
		Open: openMany,
	},
	{
		Name:      "crowd",
		About:     "64 clients with connections of their own want one name again and again, and hold it for 5 ms",
		Libraries: lib.Waiting,
		Full:      Plan{Rounds: 4, Others: 2, Round: 4 * time.Second, Size: 64},
		Short:     Plan{Rounds: 1, Round: 2 * time.Second, Size: 64},
		Main:      handOvers, Base: "leasehold",
		Open: openContention,
	},
	{
		Name:      "process",
		About:     "64 goroutines of one process pass one name around",
		Libraries: lib.WaitingOnRedis,
		Full:      Plan{Rounds: 51, Warm: time.Second / 4, Round: 80 * time.Millisecond, Size: 64},
		Short:     Plan{Rounds: 9, Round: 60 * time.Millisecond, Size: 64},
		Main:      handOvers, Base: "leasehold",
		Open: openProcess,
	},
	{
		Name: "second",
		About: "64 goroutines of one process pass one name around while a second process asks for it every 0 … " +
			"20 ms",
		Libraries: lib.Waiting,
		Full:      Plan{Rounds: 9, Others: 2, Round: 300 * time.Millisecond, Size: 64},
		Short:     Plan{Rounds: 1, Round: time.Second / 2, Size: 64},
		Main:      secondsLongest, Base: "leasehold",
		Open: openSecond,
	},
	{
		Name: "burst",
		About: "1,000 goroutines, spread over 10 clients, come at once to a name that is held and then released; " +
			"each wants one turn, and lets go at once",
		Libraries: lib.Waiting,
		Full:      Plan{Rounds: 9, Others: 2, Warm: time.Second / 4, Round: 3 * time.Second, Size: 1000},
		Short:     Plan{Rounds: 3, Others: 1, Round: time.Second, Size: 1000},
		Main:      handOvers, Base: "leasehold",
		Open: openBurst,
	},
	{
		Name:      "held",
		About:     "one process holds many leases, and renews them",
		Libraries: lib.Renewing,
		Full:      Plan{Rounds: 1, Round: 10 * time.Second, Size: 100_000, TTL: 10 * time.Second},
		Short:     Plan{Rounds: 1, Round: 3 * time.Second, Size: 10_000, TTL: 2 * time.Second},
		Main:      clientShare, Base: "leasehold",
		Open: openHeld,
	},
	{
		Name:      "listing",
		About:     "one process holds many leases, and a second client lists them: the first 1,000, and all",
		Libraries: lib.Listing,
		Full:      Plan{Rounds: 3, Size: 100_000, TTL: time.Minute},
		Short:     Plan{Rounds: 1, Size: 10_000, TTL: time.Minute},
		Main:      listAll, Base: "leasehold",
		Open: openListing,
	},
	{
		Name:      "memory",
		About:     "one process takes many leases: what each takes in memory",
		Libraries: lib.WaitingOnRedis,
		Full:      Plan{Rounds: 1, Size: 20_000, TTL: time.Minute},
		Short:     Plan{Rounds: 1, Size: 5000, TTL: time.Minute},
		Main:      leaseMemory, Base: "leasehold",
		Open: openMemory,
	},
	{
		Name:      "waiters",
		About:     "10,000 goroutines of one process wait for a name that another client holds",
		Libraries: lib.WaitingOnRedis,
		Full:      Plan{Rounds: 2, Others: 1, Round: 2 * time.Second, Size: 10_000, TTL: time.Minute},
		Short:     Plan{Rounds: 1, Round: time.Second / 2, Size: 10_000, TTL: time.Minute},
		Main:      waiterMemory, Base: "leasehold",
		Open: openWaiters,
	},
}, lingering, turnWorkloads("", "", "leasehold", lib.WaitingOnRedis, 64, 200))
