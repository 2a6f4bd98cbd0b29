// Bench compares leasehold with the bare commands of a lock, and with other lock libraries, in one run on one machine.
//
//	go run ./lab/bench                         # everything: about a quarter of an hour
//	go run ./lab/bench -short                  # everything, within three minutes
//	go run ./lab/bench -run '^crowd'           # one workload; also ^crowd/leasehold, or 'many/.* auto'
//	go run ./lab/bench -run '^etcd'            # all workloads on etcd; also ^postgres, ^zookeeper, ^five, ^redisson
//	go run ./lab/bench -json FILE              # also write all figures of all rounds
//	go run ./lab/bench -check                  # exit with 1 if a target is missed
//	go run ./lab/bench -redis localhost:6379   # use a server that is running already
//	go run ./lab/bench -from FILE -page PAGE   # run nothing: write a page with plots from the figures of any machine
//	go run ./lab/bench -from FILE -page PAGE -figures F # the same, with all tables in another file
//	go run ./lab/bench -from FILE -section PAGE -figures F # the tables of Redisson's locks within a page
//	go run ./lab/bench -from FILE -compare ONE # which ratios of two runs differ by more than 15 %
//	go run ./lab/bench -skip '^redisson'       # all but what needs Java
//	go run ./lab/bench -set long               # what takes longer: a million leases, ten minutes
//	go run ./lab/bench -set growth             # what turns cost with many clients, names, leases and waiters
//	go run ./lab/bench -run many/leasehold -cpuprofile FILE
//
// It starts the servers that it needs, on the loopback: redis-server, which must be in the PATH, without persistence;
// and PostgreSQL, etcd and ZooKeeper (the packages postgresql, etcd-server and zookeeper of Debian), as durable as they
// are by default. If one of those three is not installed, its rows are left out. So are those of Redisson if Java
// or the program that "make java" builds is missing; "make bench-redisson" has them. On a Redis server that is given,
// it deletes the keys that it has made, which have "leasehold-bench" in their names.
//
// # What is measured
//
//   - free: one goroutine locks and releases a free name.
//   - many: 256 goroutines of one process, each with a name of its own.
//   - crowd: contention. 64 clients, each with its own connections, want one name again and again, and hold it for
//     5 ms. A hand-over is a release and the next grant, whoever gets it; libraries without a queue often grant to the
//     same client again. The ideal wait is that of a queue: 64 times 5 ms plus the median hand-over. Client commands
//     are counted on the connections, server commands by the server, including those that scripts call.
//   - turns-one, turns-many, turns-held: 8 clients want one name, or each of many names in a goroutine of its own,
//     again and again. They release at once, or after 5 ms. What a turn costs server and client counts, and whether all
//     get as many: a library that polls often grants to the same client again, and lets others starve. The same on the
//     other kinds of servers: postgres-turns-one and so on.
//   - process: 64 goroutines of one process hand one name around.
//   - second: the same beside a second process that asks for the name from time to time.
//   - burst: 1,000 goroutines, spread over ten clients, come at once to a name that is held and then released. Each
//     wants one turn. The time until all have had theirs counts; libraries that poll get until the end of the round.
//   - free-later: as free, with releases that are not waited for (ReleaseLater).
//   - again: one goroutine locks and releases one name again and again, with Linger and without.
//   - sticky: 8 clients with a thousand names each. A client wants its own names, and in one turn of a hundred one of
//     another client: with Linger, that is when a request is sent. All rounds use the same names.
//   - recall: one client has used names, and with Linger has kept them. Another one locks them, or tries to.
//   - held: one process holds many leases and renews them. The processor time of client and server is scaled to
//     100,000 leases of 30 s, which are renewed three times in their TTL.
//   - million, of the set long: one process takes 1,000,000 leases and holds them for five minutes. Then 16 processes
//     keep the processors busy for a minute, so that some leases cannot be renewed. Another client tries to get names
//     meanwhile: what it is granted must not be held any more, which the holder is asked (Lease.Err). How late losses
//     are told compares the time of the event with the lease's deadline. Once the busy processes have ended, the time
//     counts until as many leases are renewed in a third of their ttl as there are.
//   - growth-clients, growth-names, growth-held, growth-waiters, of the set growth: what a turn costs as something
//     grows. Of the server's time, what it uses for the leases that are held beside is taken off. The server tells how
//     many scripts took over a millisecond: on a machine with other programs a few do, as they are interrupted.
//   - listing: one process holds 100,000 leases, and a second client lists them, as the command does: the first page,
//     and all. The server's slow log tells the longest command meanwhile. It includes time for which the processor ran
//     something else, so each round lists three times, and the listing whose longest command was shortest counts. Of
//     page and listing, the slowest count.
//   - memory: the memory of client and server for one lease.
//   - waiters: 10,000 goroutines of one process wait for a name that another client holds.
//   - redisson-pair: as free, for locks of Redisson, in Java and in Go. Java measures its own pairs, so its pipe costs
//     nothing. It warms up for four seconds, and keeps Redisson's and Java's defaults. The slower a client, the more
//     processor time the server needs for each pair, as it sleeps in between. Therefore the bare commands of both are
//     recorded, and sent in one way: those rows, which begin with raw, say what pairs cost the server.
//   - redisson-crowd: contention of 16 clients for an RLock and for a fair lock: in Java, in Go, and 8 of each. A
//     register (lab/redisson/register) is told of each hold of both languages. All Java clients are in one process.
//   - postgres, etcd, zookeeper: one goroutine locks and releases a free name, on that kind of server.
//   - postgres-many, etcd-many, zookeeper-many: 64 goroutines of one process, each with a name of its own.
//   - postgres-crowd, etcd-crowd, zookeeper-crowd: contention of 16 clients.
//   - postgres-idle, etcd-idle, zookeeper-idle: 16 clients, each with its own connections, wait for a name that another
//     client holds: what they send meanwhile, and what the server does.
//   - five, five-many: locks that a majority of five Redis servers grants: one goroutine, and 64 with a name each.
//   - five-crowd: contention of 16 clients on five servers. Afterwards it continues for a while under observation
//     (MONITOR), to see how the servers vote. A vote is the time for which one server has the key of the lock for one
//     owner; a take lasts from an owner's first vote until it has no votes any more. A take that had a majority at some
//     moment was won. Otherwise its votes were split: it kept others from a majority, and got none. The share is that
//     of all takes with any vote; an owner that all servers refuse merely waits. All libraries are observed in this
//     same way, from outside.
//   - five-stopped, five-blackholed: the same as five, while one of the servers is stopped (SIGSTOP), or its connection
//     is cut. Each round first measures while all servers are healthy, after a moment for what the last fault has left
//     behind. A lock and its release are given up after a second, and count with that time.
//
// # How
//
// Libraries take turns, round by round (A B A B), so that other load on the machine affects all of them alike. Each is
// configured as its own documentation recommends; the configuration and the version are printed. The warm-up round is
// not counted. Rounds are short and many, as the machine changes from one second to the next. Figures are medians over
// the rounds, with the range of the middle half of them. A ratio is computed for each round, and the median of these is
// compared with a target. Libraries that no target of a workload mentions run only the first rounds, which leaves time
// for more rounds of the others.
//
// Beside the libraries on Redis stands etcd, another kind of server, which syncs each change to disk before it answers.
// It is there to show what its queue does, not for its speed, and no target compares it there. The workloads on etcd
// itself compare leasehold with it.
//
// On PostgreSQL, each statement that a client executes is a command. The server itself counts none; a
// question mark stands for that. The least that a lock can cost there are PostgreSQL's own advisory locks,
// which last as long as a connection, and have neither lease nor token nor any way to find out that they are
// lost. They commit nothing. A lock that outlives its connection must be stored in a row, and each change of
// it is a commit: the floor is one update of a row to take it, and one to release it. The library pglock is
// represented by the statements that it sends, since the module proxy does not have it. When it waits, it
// sleeps for a whole lease of 20 s between two attempts, so it takes no part in the workload with contention.
//
// Whenever a name is shared, a checker verifies that no two clients hold it at the same time and that tokens grow, even
// across processes. If not, the library has failed, and so has the run: exit code 1. Exit code 2 means that the
// benchmark itself could not run.
//
// Only ratios can be compared between machines. Client, second process and server share the processors of this one.
//
// # Adding to it
//
// A library is a file in internal/lib and an entry in the tables of all.go; a workload is a file in internal/work and
// an entry in the table of redis.go, five.go or engines.go. A kind of server is a file in internal/servers. Targets are
// in targets.go.
package main
