// Package zookeeper is an engine that keeps locks in a ZooKeeper ensemble, servers 3.6 and newer.
//
// # What it promises
//
// Order: the token of a grant is the number of the transaction that made its node (czxid). The ensemble counts transactions one after the other, over
// all names and all leaders, so a later grant, of whatever name, has a larger token. Each grant has one token.
//
// Exclusion: those who hold a name, and those who wait for it, are nodes in one queue. All changes go through the leader, and count when a majority
// of the servers has them on disk. So no lock is granted twice when servers fail, as long as no majority of them loses what was on its disks.
//
// Waiters are served in the order in which they joined, and each watches the one or two ahead of it: a release wakes no crowd. Those who wait for
// permits watch all places of their name.
//
// # Leases and the session
//
// An [Engine] has one session for all that it holds. Its nodes are ephemeral: they go when the session ends. So a lease ends by three clocks:
//
//   - This process removes what was not renewed in time. The servers know nothing of single leases.
//   - The servers end the session when they have heard nothing of this process for the timeout of the session (by default 40 s). So the lock of a
//     process that has died, or is cut off, is free after that timeout, whatever its ttl was; WithSessionTimeout makes it shorter.
//   - A holder relies on its session for its timeout, less a fiftieth, counted from before the beginning of a connection on which a transaction of its own
//     was answered: a server asks the leader before it lets a client in, which begins to count anew. Nothing later is a proof, so the engine connects
//     anew, to the same server, when a lease would last longer. The longest ttl (Abilities.MaxTTL) is two fifths of the timeout, 16 s of 40 s, so that
//     this happens once in half a timeout at most.
//
// A session outlives the connection and the server that it began on: name all servers of the ensemble. When it ends, everything that was held is
// lost, which renewals tell, and waiters join again, at the end. [Engine.Close] ends it at once.
//
// A renewal is a transaction that changes nothing: a majority agrees that the session lives and that the nodes are there, up to 256 of them at once. A
// leader that was frozen, and knows nothing of the next one, would answer anything less by itself. Only the engine that has taken a lock can renew it.
//
// # Nodes
//
// Below the prefix there are lock and semaphore, below these a node for each name that is held or waited for, and below that the places in its queue.
// The name of a place says the mode, the weight, the size, a hash of the owner, a nonce, and the sequence; its data says who holds, and for how long
// at most. The node of a name is removed with its last place. If the process dies with its places, an empty one is left until the name is taken and
// released again, or [Engine.Sweep] removes it.
//
// A lock that is released but kept for a while (driver.Release.Keep) becomes a node of no session, so that it outlives its process. It ends by the
// clock of the ensemble: this process removes it, or whoever finds it over.
//
// A take whose answer was lost is found again by the hash of its owner, and is not done twice.
//
// # Which faults break what
//
//   - A process is killed, paused or cut off: nothing breaks. Its locks are free when its session has ended.
//   - A server fails, the leader too, or is frozen or cut off: nothing breaks while a majority goes on. Until there is a leader again nothing is
//     granted or renewed; sessions last for their whole timeout from then on. A frozen server is noticed after 3 s, or an eighth of the session's
//     timeout if that is less (0.5 s at least), and the session goes on with another one.
//   - All servers lose power at the same time: nothing breaks, as long as they write to the disk before they answer (forceSync=yes, as by default).
//     Those with forceSync=no may forget locks that were granted, and give tokens out twice.
//   - The clock of a server is set: nothing breaks. Sessions are measured by a clock that cannot be set. Only kept locks end early or late by as much.
//   - The clock of the holder's machine is wrong: nothing breaks, unless it is slower than the leader's by more than a fiftieth. If it is set, or the machine
//     was suspended, the lease ends early. If it stands still while a hypervisor pauses the machine, others may get the lock meanwhile.
//   - The ensemble is made anew, or its data set back: tokens begin anew or repeat. After some two million elections of a leader there are no
//     tokens below 2^53 any more, and nothing is granted.
//   - Somebody else deletes or makes nodes below the prefix: locks are lost or granted twice. WithAuth keeps others from it.
//
// # The client
//
// The engine uses github.com/go-zookeeper/zk, since there is no Go client that is kept better, and works around what it leaves to be desired: see
// client.go. Connections are not encrypted, unless the URL says so or [WithDialer] sees to it. After a reconnect, a restart or a lost message waiters look anew, and
// every 10 s in any case.
package zookeeper
