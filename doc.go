// Package leasehold provides distributed locks with fencing tokens. A holder is told when its lock is lost.
//
//	client := leasehold.New(engine)
//	m := client.Mutex("order:1001", leasehold.TTL(10*time.Second))
//
//	lease, err := m.Lock(ctx) // waits; m.TryLock(ctx) does not
//	if err != nil {
//		return err
//	}
//	defer lease.Release() // works when ctx is cancelled, too
//
//	// Do the work with lease.Context(): it is cancelled the moment the lock is lost.
//	// Send lease.Token() along with each write, so that the resource can refuse older ones.
//
// # Engines
//
// An engine keeps the locks. A program chooses one; the calls are the same on all of them. They differ in who can share
// the locks, and in what happens when a server fails:
//
//   - memory, github.com/leasehold-go/leasehold/memory: one process, for tests and examples. Locks and tokens end with
//     the process.
//   - sqlite, github.com/leasehold-go/leasehold/sqlite: the processes of one machine, in a file, without a server. If
//     the machine crashes, all holders are gone, and tokens continue.
//   - redis, github.com/leasehold-go/leasehold/redis: all clients of a Redis server, alone or behind Sentinels, or of a
//     Redis Cluster. If the server fails, nothing is granted until it is back, and for a minute after a restart or a
//     failover.
//   - redlock, github.com/leasehold-go/leasehold/redis/redlock: all clients of three or five independent Redis servers.
//     It works while a majority of them is up. It has exclusive locks only: no read-write locks, no semaphores, no
//     latches.
//   - redisson, github.com/leasehold-go/leasehold/redis/redisson: as redis, but on the keys of the Java library
//     Redisson. It grants at once after a failover.
//   - postgres, github.com/leasehold-go/leasehold/postgres: all clients of a PostgreSQL database. If the server fails,
//     nothing is granted until it is back, and for a minute after a crash or a failover. A transaction in that database
//     can be made to fail unless the lock is held.
//   - etcd, github.com/leasehold-go/leasehold/etcd: all clients of an etcd cluster. It works while a majority of the
//     servers is up. A transaction in that cluster can be made to fail unless the lock is held. It has no latches.
//   - zookeeper, github.com/leasehold-go/leasehold/zookeeper: all clients of a ZooKeeper ensemble. It works while a
//     majority of the servers is up. The servers limit how long a lease can be, by default to 16 s. It has no latches.
//
// If an engine cannot do something, the call returns [ErrUnsupported] before anything is sent. The page
// docs/which-lock.md of the project helps to choose, and docs/engines/README.md has a table of what each can do.
//
// # Promises
//
// All engines give the same two promises:
//
//   - Order. For one name, a later grant has a larger token than an earlier one, whatever clocks, pauses and networks
//     do, as long as the engine's counters survive.
//   - Exclusion. From the return of Lock until Release or [Lease.Deadline], whichever is first, nobody else holds the
//     name, as long as the rates of clocks differ by less than the stated drift (1 % of the ttl + 2 ms) and the
//     engine keeps what it acknowledged.
//
// Nothing else is promised. In particular, a paused program is not stopped: that is what the token is for.
//
// # Leases
//
// A lease is renewed every third of its ttl until it is released or lost, unless [NoRenew] or [MaxHold] says otherwise.
// If renewal fails, [Lease.Context] is cancelled with the cause, at the deadline at the latest, even if engines hang.
//
// Package admin shows who holds what and who waits, and takes locks away by force.
//
// Everything in this package is safe for concurrent use. The package prints nothing; see [WithLogger] and
// [WithObserver].
package leasehold
