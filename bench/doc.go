// Bench compares leasehold with the bare commands of a lock, and with other lock libraries, in one run on one machine.
//
//	go run ./bench                         # everything: about nine minutes
//	go run ./bench -short                  # everything, within two minutes
//	go run ./bench -run '^crowd'           # one workload; also ^crowd/leasehold, or 'many/.* auto'
//	go run ./bench -run '^etcd'            # all workloads on etcd; also ^postgres, ^zookeeper, ^five
//	go run ./bench -json FILE              # all figures of all rounds, too
//	go run ./bench -check                  # exit with 1 if a target is missed
//	go run ./bench -redis localhost:6379   # a server that is there already
//	go run ./bench -from FILE -page PAGE   # run nothing: write a document with plots from the figures of any machine
//	go run ./bench -from FILE -compare ONE # which ratios of two runs differ by more than 15 %
//	go run ./bench -run many/leasehold -cpuprofile FILE
//
// It starts the servers that it needs, on the loopback: redis-server, which must be in the PATH, without persistence; and PostgreSQL,
// etcd and ZooKeeper (the packages postgresql, etcd-server and zookeeper of Debian), as durable as they are by default. Without one of
// those three, its rows are left out. On a Redis server that is given, it deletes the keys that it has made, which have "leasehold-bench" in their names.
//
// # What is measured
//
//   - free: one goroutine locks and releases a free name.
//   - many: 256 goroutines of one process, each with a name of its own.
//   - crowd: 64 clients, each with connections of its own, want one name again and again, and hold it for 5 ms.
//     A hand-over is a release and the grant that follows, whoever gets it; libraries without a queue often
//     grant to the same client again. The ideal wait is that of a queue: 64 times 5 ms and the median hand-over.
//     Client commands are counted on the connections, server commands by the server, with
//     what scripts call.
//   - process: 64 goroutines of one process pass one name around.
//   - second: the same beside a second process that asks for the name now and then.
//   - burst: 1,000 goroutines, spread over ten clients, come at once to a name that is held and then released. Each wants one
//     turn. What counts is the time until all have had theirs; libraries that poll get so long as a round lasts.
//   - held: one process holds many leases and renews them. The processor time of client and server is scaled to 100,000
//     leases of 30 s, which are renewed three times in their ttl.
//   - listing: one process holds 100,000 leases, and a second client lists them, as the command does: the first page, and all. The slow log of
//     the server tells the longest command meanwhile. Time for which a processor had something else to do is in it, so each round lists three times, and the
//     listing counts in which the longest command was shortest. Of page and listing, the slowest count.
//   - memory: what a lease takes in the memory of client and server.
//   - waiters: 10,000 goroutines of one process wait for a name that another client holds.
//   - postgres, etcd, zookeeper: one goroutine locks and releases a free name, on that kind of server.
//   - postgres-many, etcd-many, zookeeper-many: 64 goroutines of one process, each with a name of its own.
//   - postgres-crowd, etcd-crowd, zookeeper-crowd: the crowd, with 16 clients.
//   - postgres-idle, etcd-idle, zookeeper-idle: 16 clients, each with connections of its own, wait for a name that another client holds: what they send
//     meanwhile, and what the server does.
//   - five, five-many: locks that a majority of five Redis servers grants: one goroutine, and 64 with a name each.
//   - five-crowd: the crowd on five servers, with 16 clients. Then it goes on for a while in which the servers are watched (MONITOR), to see how they
//     vote. A vote is the time for which one server has the key of the lock for one owner; a take is the time from an owner's first vote until it has none
//     any more. If it had a majority at some moment it was won, and otherwise its votes were split: it kept others from a majority, and got none. Their
//     share is that of all takes with any vote. Who is refused by all merely waits. So it is seen from outside, for each library alike.
//   - five-stopped, five-blackholed: the same as five, while one of the servers is stopped (SIGSTOP), or its cable is cut. Each round measures first how it goes
//     while all are well, after a moment for what the last fault has left behind. A lock and its release are given up after a second, and count with that.
//
// # How
//
// Libraries take turns, round by round (A B A B), so that whatever else the machine does meets all of them alike. Each is
// configured as its own documentation says is best; what that is, and its version, is printed. A round that warms up
// is not counted. Rounds are short and many, as the machine is not the same from one second to the next. Figures are medians over the rounds, with
// what the middle half of them lies between. A ratio is taken in each round by itself, and its median is what is compared with a target. Libraries
// that no target of a workload is about run the first rounds only, which leaves time for more rounds of the others.
//
// Beside the libraries on Redis, etcd is another kind of server, which syncs each change to disk before it answers. It stands there for what its queue does,
// not for its speed, and is part of no target there. Where leasehold is on etcd itself, it is.
//
// On PostgreSQL, each statement that a client executes is a command. The server itself counts none, which a question mark stands for. The least that a
// lock can cost there are its own advisory locks, which last as long as a connection, and have neither lease nor token nor any way to find out that they
// are lost. They commit nothing. What outlives its connection must stand in a row, and each change of it is a commit: the floor is one update of a row to
// take it, and one to let it go. The library pglock stands there by the statements that it sends, since the module proxy does not have it. When it waits, it sleeps for a whole
// lease of 20 s between two tries, so it is not in the crowd.
//
// Whenever a name is shared, a judge watches that no two hold it at the same time and that tokens grow, across
// processes, too. If they do not, the library has failed, and so has the run: exit code 1. Exit code 2 means
// that the benchmark itself could not run.
//
// Only ratios travel between machines. Client, second process and server share the processors of this one.
//
// # Adding to it
//
// A library is a file in internal/lib and an entry in the tables of all.go; a workload is a file in internal/work and an entry
// in the table of redis.go, five.go or beside.go. A kind of server is a file in internal/place. Targets are in targets.go.
package main
