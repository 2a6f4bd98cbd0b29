// Package etcd is an engine that keeps locks in an etcd cluster, from version 3.4 on. Any number of machines share
// them.
//
// # Opening
//
// [Open] takes a URL and makes a client of its own, as the command does. [New] works with a client that you make and
// that stays yours:
//
//	cluster, err := clientv3.New(clientv3.Config{
//		Endpoints:            []string{"h1:2379", "h2:2379", "h3:2379"},
//		DialKeepAliveTime:    10 * time.Second, // leave a member that hangs
//		DialKeepAliveTimeout: 3 * time.Second,
//	})
//	if err != nil {
//		return err
//	}
//	engine, err := etcd.New(cluster)
//	if err != nil {
//		return err
//	}
//	client := leasehold.New(engine)
//
// Close the leasehold client first, then the engine, then the etcd client.
//
// # What it promises
//
// Exclusion: each owner has an etcd key of its own, and the order in which the keys of a name were created decides who
// holds it. One transaction takes a free lock, and the majority of the cluster makes every decision. No failover
// forgets a lock or grants it twice: the engine reports a grant only after the majority has stored it.
//
// Order: the token is the revision at which the key was created. Revisions grow over all keys of the cluster, so a
// token can be compared with every revision of etcd. [Engine.Guard] makes it a condition of your own transactions in
// the same cluster: a holder that has lost the lock writes nothing there.
//
// Fairness: waiters are served in the order in which they came. A waiter watches the entry that is in its way, so it is
// notified at once when that is removed. Nobody polls often: each waiter reads the queue every 15 seconds, in case an
// event was lost.
//
// # Sessions
//
// A session shows that a process lives. It is a key on an etcd lease that is kept alive, and all locks of a process
// with about the same ttl share one. A session lasts half their ttl plus a second, but at least 3 s, in whole seconds;
// lengths above 15 s are rounded up, by at most an eighth, so that few different ones are in use. The keys of locks
// name their session. So renewing a lock takes no write: the process keeps the session alive now and then, and one read
// confirms up to 127 locks together with their session. A lock that is not renewed is removed by its own process when
// its ttl has passed.
//
// The end of a session alone frees nothing, because a leader that was paused may end a session too early. A client that
// waits for a lock, or is refused it, and finds the holder's session gone, lets etcd remove the lock after its ttl from
// then on, but not before 4 s. A holder that still lives names another session in time. If nobody asks for the lock, it
// is removed after a quarter of an hour, or after 16 ttls if that is longer.
//
// A take that its caller gave up may reach the cluster later. For 15 s the process removes what such a take leaves.
// After that it uses another session for everything else, and lets the session of the take end, so that a take that
// arrives even later has no effect.
//
// An entry in the queue has a session of at most 8 s, which the waiting process keeps alive. A waiter that has died is
// passed over at most 7 s after its session has ended.
//
// # Which faults break which promise
//
//   - The process or its machine dies: its locks are free for waiters at most 1.5 ttls and about 3 s later.
//   - A member is lost or hangs: requests that went to it fail, or take until their timeout; other requests are not
//     affected. Clients turn to other members within seconds.
//   - The etcd leader is lost: nothing is granted or renewed during the election. The new leader restarts the time of
//     each session, so a lock of a dead process may stay held for that much longer.
//   - The majority is lost, or a partition separates it from the clients: nothing is granted, and holders know by their
//     own clocks when their leases end. When the majority comes back, so do the locks.
//   - An old leader that was paused (its process or its disk) goes on after another was elected: it confirms keepalives
//     although it has no right to, and the engine does not trust these answers. It may also end sessions, in all
//     releases of etcd. Their locks stay, and name other sessions with their next renewal.
//   - The leader's clock runs faster than the holder's by more than one percent: a lock whose session has ended may be
//     free before the holder knows. Steps of a wall clock do not matter on either side.
//   - The data is restored from a snapshot, or the cluster is made anew: locks that were granted after the snapshot are
//     forgotten. Revisions go back, too, so tokens may be given twice, unless the snapshot is restored with a later
//     revision (etcdutl snapshot restore --bump-revision --mark-compacted). Stop all programs that use locks before.
//   - Somebody removes keys below the prefix, or ends the etcd leases that they are attached to: others may be granted
//     the lock before the holder finds out with its next renewal.
//   - The database is full (the alarm NOSPACE): no lock can be taken; held locks can be renewed and released. Waiters
//     are still granted the lock in their turn, but a waiter with a ttl above 7 s cannot renew it, and loses it after
//     that time. What dead processes have left stays until there is room.
//   - The history is compacted: nothing happens; waiters read instead.
//
// # Rights
//
// The client's user needs the right to read and write all keys that begin with the prefix, and no other right. The
// values contain a hash of each owner's secret: nobody who can read them learns how to release another's lock. Anybody
// who can write them can.
package etcd
