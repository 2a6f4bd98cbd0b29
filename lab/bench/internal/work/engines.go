package work

import (
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

// The workloads on servers with lock features of their own compare this library with libraries that
// use nothing else.
var (
	Postgres  = engineWorkloads("postgres", lib.Postgres, lib.WaitingOnPostgres, "leasehold postgres")
	Etcd      = engineWorkloads("etcd", lib.OnEtcd, lib.OnEtcd, "leasehold etcd")
	ZooKeeper = engineWorkloads("zookeeper", lib.ZooKeeper, lib.ZooKeeper, "leasehold zookeeper")
)

// engineWorkloads returns the workloads of such a server. Their names begin with the server's name.
// Rounds are longer than on Redis, as most of these servers sync to disk.
func engineWorkloads(server string, all, waiting []lib.Library, base string) []Workload {
	return slices.Concat([]Workload{
		{
			Name:      server,
			About:     "one goroutine, with a context that never ends, locks and releases a free name",
			Libraries: all,
			Full:      Plan{Rounds: 41, Warm: time.Second / 4, Round: 60 * time.Millisecond, Size: 1},
			Short:     Plan{Rounds: 9, Warm: 100 * time.Millisecond, Round: 40 * time.Millisecond, Size: 1},
			Main:      pairs, Base: base,
			Open: openFree,
		},
		{
			Name:      server + "-many",
			About:     "64 goroutines of one process, each with a name of its own",
			Libraries: all,
			Full:      Plan{Rounds: 31, Warm: time.Second / 4, Round: 80 * time.Millisecond, Size: 64},
			Short:     Plan{Rounds: 7, Warm: 100 * time.Millisecond, Round: 60 * time.Millisecond, Size: 64},
			Main:      pairs, Base: base,
			Open: openMany,
		},
		{
			Name:      server + "-crowd",
			About:     "16 clients with connections of their own want one name again and again, and hold it for 5 ms",
			Libraries: waiting,
			Full:      Plan{Rounds: 3, Round: 1500 * time.Millisecond, Size: 16},
			Short:     Plan{Rounds: 1, Round: time.Second, Size: 16},
			Main:      handOvers, Base: base,
			Open: openContention,
		},
		{
			Name:      server + "-idle",
			About:     "16 clients with connections of their own wait for a name that another client holds",
			Libraries: waiting,
			// Long enough to see what is done every ten seconds.
			Full:  Plan{Rounds: 1, Round: 11 * time.Second, Size: 16},
			Short: Plan{Rounds: 1, Round: time.Second, Size: 16},
			Main:  idleCommands, Base: base,
			Open: openIdle,
		},
	}, turnWorkloads(server, "", base, waiting, 16, 50))
}
