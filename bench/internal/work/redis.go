package work

import (
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/lib"
	"github.com/leasehold-go/leasehold/bench/internal/stat"
)

// Redis are the workloads on one Redis server.
var Redis = []Workload{
	{
		Name:      "free",
		About:     "one goroutine, with a context that never ends, locks and releases a free name",
		Libraries: lib.Redis,
		Full:      Plan{Rounds: 61, Warm: time.Second / 2, Round: time.Second / 10, Size: 1},
		Short:     Plan{Rounds: 15, Warm: time.Second / 10, Round: 60 * time.Millisecond, Size: 1},
		Open:      openFree,
	},
	{
		Name:      "ending",
		About:     "as free, with a context that can be cancelled",
		Libraries: lib.Redis,
		Full:      Plan{Rounds: 31, Warm: time.Second / 2, Round: time.Second / 10, Size: 1},
		Short:     Plan{Rounds: 9, Warm: time.Second / 10, Round: 60 * time.Millisecond, Size: 1},
		Open:      openFreeEnding,
	},
	{
		Name:      "many",
		About:     "256 goroutines of one process, each with a name of its own",
		Libraries: lib.Redis,
		Full:      Plan{Rounds: 31, Warm: time.Second / 2, Round: time.Second / 4, Size: 256},
		Short:     Plan{Rounds: 9, Warm: time.Second / 5, Round: 120 * time.Millisecond, Size: 256},
		Open:      openMany,
	},
	{
		Name:      "crowd",
		About:     "64 clients with connections of their own want one name again and again, and hold it for 5 ms",
		Libraries: lib.Waiting,
		Full:      Plan{Rounds: 3, Round: 8 * time.Second, Size: 64},
		Short:     Plan{Rounds: 1, Round: 5 * time.Second / 2, Size: 64},
		Open:      openCrowd,
	},
	{
		Name:      "process",
		About:     "64 goroutines of one process pass one name around, alone, and then beside a second process that asks for it every 0 … 20 ms",
		Libraries: lib.Waiting,
		Full:      Plan{Rounds: 5, Warm: time.Second / 2, Round: 2 * time.Second, Size: 64},
		Short:     Plan{Rounds: 2, Warm: time.Second / 4, Round: time.Second / 2, Size: 64},
		Open:      openProcess,
	},
	{
		Name:      "held",
		About:     "one process holds many leases, and renews them",
		Libraries: lib.Renewing,
		Full:      Plan{Rounds: 1, Round: 50 * time.Second, Size: 100_000, TTL: 10 * time.Second},
		Short:     Plan{Rounds: 1, Round: 4 * time.Second, Size: 10_000, TTL: 2 * time.Second},
		Open:      openHeld,
	},
	{
		Name:      "waiters",
		About:     "10,000 goroutines of one process wait for a name that another client holds",
		Libraries: lib.Waiting,
		Full:      Plan{Rounds: 2, Round: 10 * time.Second, Size: 10_000, TTL: time.Minute},
		Short:     Plan{Rounds: 1, Round: time.Second, Size: 10_000, TTL: time.Minute},
		Open:      openWaiters,
	},
}

// RedisTargets are what is wanted of leasehold on one Redis server.
var RedisTargets = []Target{
	{"free", "time of a pair, to that of the floor", atMost(1.15), false, func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("floor", pairs), f.of("leasehold", pairs))
	}},
	{"many", "pairs/s with AutoPipeline, to redislock", atLeast(3), false, func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("leasehold auto", pairs), f.of("redislock", pairs))
	}},
	{"many", "pairs/s with AutoPipeline, to redsync", atLeast(3), false, func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("leasehold auto", pairs), f.of("redsync", pairs))
	}},
	{"many", "pairs/s with AutoPipeline, to rueidislock", atLeast(1.5), false, func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("leasehold auto", pairs), f.of("rueidislock", pairs))
	}},
	{"many", "pairs/s with AutoPipeline, to the floor with AutoPipeline", atLeast(0.6), false, func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("leasehold auto", pairs), f.of("floor auto", pairs))
	}},
	{"crowd", "client commands per hand-over", atMost(4), false, figure("leasehold", clientCommands)},
	{"crowd", "most to fewest turns of a waiter", atMost(1.2), false, figure("leasehold", unfairness)},
	{"crowd", "wait p99, to 64 × (5 ms + median hand-over)", atMost(1.15), false, figure("leasehold", waitToIdeal)},
	{"process", "hand-overs/s, to those of the best peer", atLeast(10), false, func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("leasehold", handOvers), stat.Largest(f.of("redsync", handOvers), f.of("redislock", handOvers), f.of("rueidislock", handOvers)))
	}},
	{"process", "longest wait of a second process, ms", atMost(50), true, figure("leasehold", secondsLongest)},
	{"held", "client: % of one core for 100,000 leases of 30 s", atMost(15), false, figure("leasehold", clientShare)},
	{"held", "server: % of one core for 100,000 leases of 30 s", atMost(15), false, figure("leasehold", serverShare)},
	{"held", "leases lost", atMost(0), true, figure("leasehold", leasesLost)},
	{"waiters", "commands/s while waiting", atMost(10), true, figure("leasehold", idleCommands)},
	{"waiters", "bytes per waiter beyond a bare goroutine", atMost(4096), false, figure("leasehold", waiterMemory)},
}

// figure is a target's value that is measured as it is.
func figure(library, metric string) func(*Finder) stat.Summary {
	return func(f *Finder) stat.Summary { return f.of(library, metric) }
}

// The metrics that targets look at, or that are common to workloads.
const (
	pairs          = "pairs of lock and release"
	clientTime     = "processor time of a pair: client"
	serverTime     = "processor time of a pair: server"
	handOvers      = "hand-overs" // to whomever
	toAnother      = "of them not to the same again"
	leftWaiting    = "never woken"
	clientCommands = "client commands per hand-over"
	unfairness     = "most/fewest turns"
	waitToIdeal    = "wait p99/ideal"
	secondsLongest = "longest wait of the second process"
	clientShare    = "client: share of one core, at 100,000 of 30 s"
	serverShare    = "server: share of one core, at 100,000 of 30 s"
	leasesLost     = "leases lost"
	idleCommands   = "commands while waiting"
	waiterMemory   = "memory per waiter beyond a bare goroutine"
)
