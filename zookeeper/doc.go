// Package zookeeper is an engine that keeps locks in a ZooKeeper ensemble, servers 3.6 and newer.
//
// # What it promises
//
// Order: the token of a grant is the number of the transaction that made its node (czxid). The ensemble numbers
// transactions one after the other, over all names and all leaders, so a later grant, of whatever name, has a larger
// token. Each grant has one token.
//
// Exclusion: holders and waiters of a name are nodes in one queue. All changes go through the leader, and take effect
// once a majority of the servers has them on disk. So no lock is granted twice when servers fail, as long as no
// majority of them loses what was on its disks.
//
// Waiters are served in the order in which they joined. Each watches only the one or two entries before its own, so a
// release does not wake all of them. Waiters for permits watch all entries of their name.
//
// # Leases and the session
//
// An [Engine] has one session for everything that it holds. Its nodes are ephemeral: they go when the session ends. So
// a lease is limited by three clocks:
//
//   - This process removes what was not renewed in time. The servers know nothing of single leases.
//   - The servers end the session when they have not heard from this process for the timeout of the session (by
//     default 40 s). So the lock of a process that has died, or is cut off, is free after that timeout, whatever its
//     ttl was. WithSessionTimeout makes it shorter.
//   - A holder relies on its session for the timeout, less a fiftieth. It counts from before the start of a connection
//     on which one of its transactions was answered: a server asks the leader before it accepts a client, and the
//     leader then restarts the timeout. Nothing that happens later on the connection proves as much. So the engine
//     reconnects, to the same server, when a lease would outlast this time. The longest ttl (Abilities.MaxTTL) is two
//     fifths of the timeout, 16 s of 40 s, so that this happens at most once in half a timeout.
//
// A session outlives the connection and the server that it began on: name all servers of the ensemble. When the session
// ends, everything that was held is lost, which renewals report. Waiters join again, at the end of the queue.
// [Engine.Close] ends the session at once.
//
// A renewal is a transaction that changes nothing: a majority confirms that the session is alive and that the nodes
// exist, up to 256 of them at once. A leader that was frozen and knows nothing of its successor would answer a mere
// read by itself. Only the engine that took a lock can renew it.
//
// # Nodes
//
// Below the prefix are the nodes lock and semaphore, below these a node for each name that is held or waited for, and
// below that the entries of its queue, one for each holder and each waiter. The name of an entry has the mode, the
// weight, the size, a hash of the owner, a nonce, and the sequence number. Its data has the holder text, and the
// longest time that its lease can last. The node of a name is removed with its last entry. If a process dies, its
// entries go, and an empty node of the name is left until the name is taken and released again, or [Engine.Sweep]
// removes it.
//
// A lock that is released but kept for a while (driver.Release.Keep) becomes a node that belongs to no session, so that
// it outlives its process. It ends by the clock of the ensemble: this process removes it, or any other that finds its
// time over.
//
// A take whose answer was lost is found again by the hash of its owner, and is not done twice.
//
// # Which faults break what
//
//   - A process is killed, paused or cut off: nothing breaks. Its locks are free when its session has ended.
//   - A server, even the leader, fails, or is frozen or cut off: nothing breaks while a majority is left. Until there
//     is a leader again nothing is granted or renewed. Sessions last for their whole timeout from then on. A frozen
//     server is noticed after 3 s, or an eighth of the session's timeout if that is less (but 0.5 s at least), and the
//     session continues on another one.
//   - All servers lose power at the same time: nothing breaks, as long as they write to disk before they answer
//     (forceSync=yes, the default). Servers with forceSync=no may forget locks that were granted, and issue tokens
//     twice.
//   - The clock of a server is set: nothing breaks. Sessions are measured by a clock that cannot be set. Only kept
//     locks end that much too early or too late.
//   - The clock of the holder's machine is wrong: nothing breaks, unless it runs slower than the leader's by more than
//     a fiftieth. If it is set, or the machine was suspended, the lease ends early. If it stands still while a
//     hypervisor pauses the machine, others may get the lock meanwhile.
//   - The ensemble is created again, or its data is set back: tokens start again or repeat. After some two million
//     elections of a leader there are no tokens below 2^53 any more, and nothing is granted.
//   - Another program deletes or creates nodes below the prefix: locks are lost or granted twice. WithAuth prevents
//     this.
//
// # The client library
//
// The engine uses github.com/go-zookeeper/zk, the best maintained Go client, and works around its shortcomings: see
// connection.go. Connections are not encrypted, unless the URL asks for TLS or [WithDialer] provides it. Waiters read
// the queue again after a reconnect, a restart or a lost message, and every 10 s in any case.
package zookeeper
