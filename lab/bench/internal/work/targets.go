package work

import (
	"slices"

	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
)

// RedisTargets are the targets of leasehold on one Redis server.
var RedisTargets = []Target{
	{Workload: "free", Claim: "time of a pair, to that of the floor", Bound: atMost(1.1),
		Value: func(f *Finder) stat.Summary {
			return stat.Ratio(f.of("floor", pairs), f.of("leasehold", pairs))
		}},
	{Workload: "ending", Claim: "client time of a pair, to redislock", Bound: atMost(1.1),
		Value: func(f *Finder) stat.Summary {
			return stat.Ratio(f.of("leasehold", clientTime), f.of("redislock", clientTime))
		}},
	{Workload: "ending", Claim: "p50 of a pair, to that of the floor", Bound: atMost(1.1),
		Value: func(f *Finder) stat.Summary { return stat.Ratio(f.of("leasehold", pairP50), f.of("floor", pairP50)) }},
	{Workload: "many", Claim: "pairs/s, to redislock", Bound: atLeast(3), Value: func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("leasehold", pairs), f.of("redislock", pairs))
	}},
	{Workload: "many", Claim: "pairs/s, to redsync", Bound: atLeast(3), Value: func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("leasehold", pairs), f.of("redsync", pairs))
	}},
	{Workload: "many", Claim: "pairs/s, to rueidislock", Bound: atLeast(1.5), Value: func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("leasehold", pairs), f.of("rueidislock", pairs))
	}},
	{Workload: "many", Claim: "pairs/s, to redislock with AutoPipeline", Bound: atLeast(1),
		Value: func(f *Finder) stat.Summary {
			return stat.Ratio(f.of("leasehold", pairs), f.of("redislock auto", pairs))
		}},
	{Workload: "many", Claim: "pairs/s, to the floor with AutoPipeline", Bound: atLeast(0.6),
		Value: func(f *Finder) stat.Summary {
			return stat.Ratio(f.of("leasehold", pairs), f.of("floor auto", pairs))
		}},
	{Workload: "crowd", Claim: "client commands per hand-over", Bound: atMost(4),
		Value: figure("leasehold", clientCommands)},
	{Workload: "crowd", Claim: "most to fewest turns of a waiter", Bound: atMost(1.2),
		Value: figure("leasehold", unfairness)},
	{Workload: "crowd", Claim: "wait p99, to 64 × (5 ms + median hand-over)", Bound: atMost(1.15),
		Value: figure("leasehold", waitToIdeal)},
	{Workload: "process", Claim: "hand-overs/s, to those of the best peer", Bound: atLeast(10),
		Value: toBestPeer(handOvers)},
	{Workload: "burst", Claim: "hand-overs/s, to rueidislock", Bound: atLeast(1), Value: func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("leasehold", handOvers), f.of("rueidislock", handOvers))
	}},
	{Workload: "turns-one", Claim: "turns/s, to those of the best peer", Bound: atLeast(1),
		Value: toBestPeer(turnRate)},
	{Workload: "turns-one", Claim: "server time of a turn, to redsync", Bound: atMost(1.3),
		Value: func(f *Finder) stat.Summary {
			return stat.Ratio(f.of("leasehold", turnServerTime), f.of("redsync", turnServerTime))
		}},
	{Workload: "turns-one", Claim: "server commands per turn", Bound: atMost(15), Absolute: true,
		Value: figure("leasehold", turnCommands)},
	{Workload: "turns-many", Claim: "turns/s, to those of the best peer", Bound: atLeast(1.2),
		Value: toBestPeer(turnRate)},
	{Workload: "turns-many", Claim: "most to fewest turns", Bound: atMost(1.2), Value: figure("leasehold", unfairness)},
	{Workload: "turns-held", Claim: "turns/s, to those of the best peer", Bound: atLeast(1.2),
		Value: toBestPeer(turnRate)},
	{Workload: "turns-held", Claim: "most to fewest turns", Bound: atMost(1.2), Value: figure("leasehold", unfairness)},
	{Workload: "second", Claim: "longest wait of a second process, ms", Bound: atMost(50), Absolute: true, Worst: true,
		Value: figure("leasehold", secondsLongest)},
	{Workload: "held", Claim: "client: % of one core for 100,000 leases of 30 s", Bound: atMost(15), Absolute: true,
		Value: figure("leasehold", clientShare)},
	{Workload: "held", Claim: "server: % of one core for 100,000 leases of 30 s", Bound: atMost(15), Absolute: true,
		Value: figure("leasehold", serverShare)},
	{Workload: "held", Claim: "leases lost", Bound: atMost(0), Absolute: true, Worst: true,
		Value: figure("leasehold", leasesLost)},
	{Workload: "listing", Claim: "first page of 100,000 locks, ms", Bound: atMost(1000), Absolute: true, Worst: true,
		Value: figure("leasehold", listPage)},
	{Workload: "listing", Claim: "all of 100,000 locks, ms", Bound: atMost(10_000), Absolute: true, Worst: true,
		Value: figure("leasehold", listAll)},
	{Workload: "listing", Claim: "longest command on the server meanwhile, ms", Bound: atMost(5), Absolute: true,
		Value: figure("leasehold", longestCommand)},
	{Workload: "waiters", Claim: "commands/s while waiting", Bound: atMost(10), Absolute: true, Worst: true,
		Value: figure("leasehold", idleCommands)},
	{Workload: "waiters", Claim: "bytes per waiter beyond a bare goroutine", Bound: atMost(4096), Absolute: true,
		Value: figure("leasehold", waiterMemory)},
}

// toBestPeer returns a target's value that compares a figure with the largest of those of other libraries on Redis.
func toBestPeer(metric string) func(*Finder) stat.Summary { return toBestPeerOf("leasehold", metric) }

func toBestPeerOf(ours, metric string) func(*Finder) stat.Summary {
	return func(f *Finder) stat.Summary {
		return stat.Ratio(f.of(ours, metric),
			stat.Largest(f.of("redsync", metric), f.of("redislock", metric), f.of("rueidislock", metric)))
	}
}

// RedissonTargets are the targets of leasehold on Redisson's locks: they cost the server no more than Redisson's own,
// and contenders of neither language starve. A lock without a queue often goes to the same client again, in both
// languages, so the turns of a short round are far from even.
var RedissonTargets = []Target{
	serverTimeTo("raw plain", "raw RLock"),
	serverTimeTo("raw fenced", "raw RFencedLock"),
	{Workload: "redisson-crowd", Claim: "lock: turns of the language that had fewer, to the other", Bound: atLeast(0.2),
		Value: figure("lock Java+Go", languages)},
	{Workload: "redisson-crowd", Claim: "fair: turns of the language that had fewer, to the other", Bound: atLeast(0.9),
		Value: figure("fair Java+Go", languages)},
}

func serverTimeTo(ours, theirs string) Target {
	return Target{Workload: "redisson-pair", Claim: serverTime + ", " + ours + " to " + theirs, Bound: atMost(1.1),
		Value: func(f *Finder) stat.Summary { return stat.Ratio(f.of(ours, serverTime), f.of(theirs, serverTime)) }}
}

// PostgresTargets are the targets of leasehold on PostgreSQL: with leases, tokens and a queue, it
// must not cost much more than a lock without them.
var PostgresTargets = slices.Concat(
	pairsTo("postgres", "leasehold postgres", "advisory", 0.7),
	pairsTo("postgres", "leasehold postgres", "floor postgres", 1),
	pairsTo("postgres", "leasehold postgres", "pglock's statements", 1),
	turnsTo("postgres", "leasehold postgres", "advisory", 0.5),
	pollTargets("postgres", "leasehold postgres"),
)

// EtcdTargets are the targets of leasehold on etcd: better than etcd's own recipe.
var EtcdTargets = slices.Concat(
	[]Target{
		pairsOf("etcd", "leasehold etcd", "etcd", 1.05),
		pairsOf("etcd-many", "leasehold etcd", "etcd", 1),
	},
	turnsTo("etcd", "leasehold etcd", "etcd", 1),
	contentionTargets("etcd", "leasehold etcd", "etcd"),
	pollTargets("etcd", "leasehold etcd"),
)

// ZooKeeperTargets are the targets of leasehold on ZooKeeper: at least as good as the recipe of its
// client.
var ZooKeeperTargets = slices.Concat(
	pairsTo("zookeeper", "leasehold zookeeper", "zk recipe", 1),
	contentionTargets("zookeeper", "leasehold zookeeper", "zk recipe"),
	pollTargets("zookeeper", "leasehold zookeeper"),
)

// FiveTargets are the targets of leasehold on a majority of five Redis servers.
var FiveTargets = []Target{
	{Workload: "five", Claim: "time of a pair, to that of the floor", Bound: atMost(1.3),
		Value: func(f *Finder) stat.Summary {
			return stat.Ratio(f.of("floor five", pairs), f.of("leasehold five", pairs))
		}},
	{Workload: "five-many", Claim: "pairs/s, to redsync", Bound: atLeast(4), Value: func(f *Finder) stat.Summary {
		return stat.Ratio(f.of("leasehold five", pairs), f.of("redsync five", pairs))
	}},
	{Workload: "five-crowd", Claim: "hand-overs/s, to one each 5 ms", Bound: atLeast(0.92),
		Value: figure("leasehold five", rateToIdeal)},
	{Workload: "five-crowd", Claim: "most to fewest turns of a waiter", Bound: atMost(1.3),
		Value: figure("leasehold five", unfairness)},
	{Workload: "five-crowd", Claim: "% of takes whose votes are split", Bound: atMost(5), Absolute: true,
		Value: figure("leasehold five", splitVotes)},
	fiveTurnsTo("five-turns-one", 1), fiveTurnsTo("five-turns-many", 1), fiveTurnsTo("five-turns-held", 3),
	{Workload: "five-stopped", Claim: "p50 of a pair, to that while all were well", Bound: atMost(1.3),
		Value: figure("leasehold five", p50ToWell)},
	{Workload: "five-stopped", Claim: "p99 of a pair, to that while all were well", Bound: atMost(1.3),
		Value: figure("leasehold five", p99ToWell)},
	{Workload: "five-blackholed", Claim: "p50 of a pair, to that while all were well", Bound: atMost(1.3),
		Value: figure("leasehold five", p50ToWell)},
	{Workload: "five-blackholed", Claim: "p99 of a pair, to that while all were well", Bound: atMost(1.3),
		Value: figure("leasehold five", p99ToWell)},
}

// fiveTurnsTo returns the target for the rate of turns: at least the given times that of redsync.
func fiveTurnsTo(workload string, times float64) Target {
	return Target{Workload: workload, Claim: "turns/s, to redsync", Bound: atLeast(times),
		Value: func(f *Finder) stat.Summary {
			return stat.Ratio(f.of("leasehold five", turnRate), f.of("redsync five", turnRate))
		}}
}

// Targets lists all targets.
var Targets = slices.Concat(RedisTargets, lingeringTargets, millionTargets, RedissonTargets, FiveTargets,
	PostgresTargets, EtcdTargets, ZooKeeperTargets)

// pairsTo returns the targets for the rate of one goroutine, and of many: at least the given times
// the rate of a peer.
func pairsTo(engine, ours, peer string, times float64) []Target {
	return []Target{pairsOf(engine, ours, peer, times), pairsOf(engine+"-many", ours, peer, times)}
}

// pairsOf returns the target for the rate of pairs in a workload.
func pairsOf(workload, ours, peer string, times float64) Target {
	return Target{Workload: workload, Claim: "pairs/s, to " + peer, Bound: atLeast(times),
		Value: func(f *Finder) stat.Summary {
			return stat.Ratio(f.of(ours, pairs), f.of(peer, pairs))
		}}
}

// turnsTo returns the targets for the rate of turns of a few clients that want the same names: at least the given times
// that of a peer.
func turnsTo(engine, ours, peer string, times float64) (all []Target) {
	for _, workload := range []string{"-turns-one", "-turns-many", "-turns-held"} {
		all = append(all, Target{Workload: engine + workload, Claim: "turns/s, to " + peer, Bound: atLeast(times),
			Value: func(f *Finder) stat.Summary {
				return stat.Ratio(f.of(ours, turnRate), f.of(peer, turnRate))
			}})
	}
	return all
}

// contentionTargets returns the targets under contention: hand-overs as fast as with a peer that
// queues, and about as fair.
func contentionTargets(engine, ours, peer string) []Target {
	return []Target{
		{Workload: engine + "-crowd", Claim: "hand-over p50, to " + peer, Bound: atMost(1),
			Value: func(f *Finder) stat.Summary {
				return stat.Ratio(f.of(ours, handOverP50), f.of(peer, handOverP50))
			}},
		{Workload: engine + "-crowd", Claim: "most to fewest turns of a waiter, to 1.2 or 1.1 times that with " + peer,
			Bound: atMost(1), Value: func(f *Finder) stat.Summary {
				return relativeUnfairness(f.of(ours, unfairness), f.of(peer, unfairness))
			}},
	}
}

// relativeUnfairness compares, round by round, a library's unfairness with what it may be beside a
// peer. A round has few whole turns, so one more turn for a waiter is not unfair.
func relativeUnfairness(ours, peer stat.Summary) stat.Summary {
	var values []float64
	for i := range min(len(ours.Rounds), len(peer.Rounds)) {
		is, may := float64(ours.Rounds[i]), max(1.2, 1.1*float64(peer.Rounds[i]))
		if is == may { // both may be infinite
			values = append(values, 1)
		} else {
			values = append(values, is/may)
		}
	}
	return stat.Summarize(values)
}

// pollTargets returns the target: waiters must not poll. A client may keep its session alive, or
// check every ten seconds for a missed notification: less than a command per second for all its
// waiters. Polling would cost tens of commands for each.
func pollTargets(engine, ours string) []Target {
	return []Target{{
		Workload: engine + "-idle", Claim: "commands of a waiter in 5 s", Bound: atMost(
			3), Absolute: true, Worst: true, Value: figure(ours, waiterCommands),
	}}
}

// figure returns a target's value that is a figure as measured.
func figure(library, metric string) func(*Finder) stat.Summary {
	return func(f *Finder) stat.Summary { return f.of(library, metric) }
}

// Metrics that targets use, or that several workloads share.
const (
	pairs          = "pairs of lock and release"
	pairP50        = "p50"
	clientTime     = "processor time of a pair: client"
	serverTime     = "processor time of a pair: server"
	turnRate       = "turns"
	turnClientTime = "processor time of a turn: client"
	turnServerTime = "processor time of a turn: server"
	turnCommands   = "server commands per turn"
	pairCommands   = "server commands per pair"
	recallP50      = "Lock p50"
	recallTryP50   = "TryLock p50"
	handOvers      = "hand-overs" // to any client
	rateToIdeal    = "hand-overs, to one each 5 ms"
	splitVotes     = "takes whose votes are split"
	toAnother      = "of them not to the same again"
	leftWaiting    = "never woken"
	clientCommands = "client commands per hand-over"
	serverCommands = "server commands per hand-over"
	unfairness     = "most/fewest turns"
	languages      = "turns of the language with fewer, to the other"
	shareOfJava    = "turns in Java"
	waitToIdeal    = "wait p99/ideal"
	secondsLongest = "longest wait of the second process"
	clientShare    = "client: share of one core, at 100,000 of 30 s"
	serverShare    = "server: share of one core, at 100,000 of 30 s"
	leasesLost     = "leases lost"
	takeRate       = "leases taken"
	millionClient  = "client: share of one core"
	millionServer  = "server: share of one core"
	toldLate       = "busy: latest loss told after the deadline, to the drift"
	busyOverlaps   = "busy: of these, while it was held"
	recovery       = "time until all are renewed again, to the ttl"
	listPage       = "first page"
	listAll        = "whole listing"
	longestCommand = "longest command on the server meanwhile"
	handOverP50    = "hand-over p50"
	idleCommands   = "commands while waiting"
	waiterCommands = "commands of a waiter in 5 s"
	leaseMemory    = "memory per lease"
	pairsAtFault   = "pairs of lock and release while one node is at fault"
	p50ToWell      = "p50, to that while all were well"
	p99ToWell      = "p99, to that while all were well"
	waiterMemory   = "memory per waiter beyond a bare goroutine"
)

// The percentiles of waits under contention, which the page draws.
const (
	WaitP50     = "wait p50"
	WaitP90     = "wait p90"
	WaitP99     = "wait p99"
	WaitLongest = "longest wait"
	WaitIdeal   = "ideal wait"
)
