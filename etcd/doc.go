// Package etcd is an engine that keeps locks in an etcd cluster, from version 3.4 on. Any number of machines share them.
//
// # Opening
//
// [Open] takes a URL and makes a client of its own, as the command does. [New] works with a client that you make, and that stays yours:
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
// Close the client of leasehold first, then the engine, then the client of etcd.
//
// # What it promises
//
// Exclusion: each owner has a key, which is nobody else's as long as it has, and who holds follows from the order in which the keys of a name were
// created. A free lock is taken by one transaction, and everything that is decided is decided by the majority of the cluster. No failover forgets a
// lock or grants it twice: a grant is told when the majority has written it down.
//
// Order: the token is the revision at which the key was created. It grows over all keys of the cluster, so it can be compared with every
// revision of etcd, and [Engine.Guard] makes it a condition of your own transactions in the same cluster: one who has lost the lock writes
// nothing there.
//
// Fairness: those who wait are served in the order in which they came. A waiter watches the one whose removal lets it in, and so is told at
// once. Nobody polls; everybody looks each ten seconds, in case that an event was lost.
//
// # Sessions
//
// A session says that a process lives: a key on a lease of etcd that is kept alive, one for all locks with about the same ttl. It lasts half
// their ttl and a second, but at least 3 s, rounded up to whole seconds, and longer than a quarter of a minute in steps of an eighth at most. The
// keys of locks name it. So to renew locks takes no write: their session is kept alive now and then, and one read finds out for up to 127 of them
// that it and they are still there. A lock that is not renewed is removed by its own process when its time is over.
//
// The end of a session frees nothing by itself, since a leader that stood still may end it too early. Whoever finds it gone, when it waits
// for a lock or is refused it, has etcd remove the lock after its ttl from then on, but at least 4 s. A holder that is still there names another session
// in time. If nobody asks for the lock, it is gone after a quarter of an hour, or after 16 ttls, if that is longer.
//
// A take that was given up may reach the cluster later. What it leaves is removed for 15 s. From then on nothing new names its session, which is left
// by what does, so that it ends; a take that comes later still does nothing.
//
// A place in the queue has a session of 5 s at most, which the waiting process keeps alive. A waiter that has died is passed over when it has ended, and
// 7 s at most after that.
//
// # Which faults break which promise
//
//   - The process, or its machine, dies: a lock of it is free, for those who wait, 1.5 times the ttl and some 3 s later at most.
//   - A member is lost, or hangs: requests that went to it fail or take until their time limit, others do not notice. The clients turn to
//     other members within seconds.
//   - The leader is lost: for as long as an election takes nothing is granted or renewed. The new leader lets each session last its full
//     time anew, so a lock of one who has died may be held for that much longer.
//   - The majority is lost, or the network parts it from the clients: nothing is granted, and holders know by their own clocks when their
//     leases are over. When the majority comes back, so do the locks.
//   - An old leader goes on because it stood still (its process, its disk) while another was elected: it says yes to whoever keeps a
//     session alive, which means nothing, and nobody believes anything for it. It may also end sessions, in all releases. Their locks stay, and name other
//     sessions with their next renewal.
//   - The leader's clock runs faster than that of a holder by more than a hundredth: a lock whose session has ended may be free before the holder knows. Steps of
//     the wall clock do not matter, neither here nor there.
//   - The data is restored from a snapshot, or the cluster is made anew: locks that were granted after the snapshot are forgotten, and so
//     are revisions, so tokens may be given a second time, unless the snapshot is restored with a later revision (etcdutl snapshot restore
//     --bump-revision --mark-compacted). Stop all programs that use locks before.
//   - Somebody removes keys below the prefix, or ends the leases of etcd that they are on: the holder is told with its next renewal, and others get in before.
//   - The database is full (the alarm NOSPACE): no lock can be taken; what is held can be renewed and released. Who waits already is granted
//     the lock in its turn, but with a ttl above 7 s cannot renew it, and loses it after that time. What the dead have left is there until there is room.
//   - The history is compacted: nothing happens; waiters read instead.
//
// # Rights
//
// The user of the client needs the right to read and write all keys that begin with the prefix, and no other. Their values have a hash of
// the secrets by which the engine knows the owners: whoever may read them learns nothing that helps to release what others hold. Whoever may
// write them can.
package etcd
