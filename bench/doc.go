// Bench compares leasehold with the bare commands of a lock, and with other lock libraries, in one run on one machine.
//
//	go run ./bench                        # everything: about ten minutes
//	go run ./bench -short                 # everything, within 90 seconds
//	go run ./bench -run crowd             # one workload; also crowd/leasehold, or 'many/.* auto'
//	go run ./bench -json FILE             # all figures of all rounds, too
//	go run ./bench -check                 # exit with 1 if a target is missed
//	go run ./bench -redis localhost:6379  # a server that is there already
//	go run ./bench -run many/leasehold -cpuprofile FILE
//
// It needs redis-server in the PATH, and starts one of its own: on the loopback, without persistence. On a
// server that is given, it deletes the keys that it has made, which have "leasehold-bench" in their names.
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
//   - process: 64 goroutines of one process pass one name around, alone, and then beside a second
//     process that asks for it now and then.
//   - held: one process holds many leases and renews them. The processor time of client and server is scaled to 100,000
//     leases of 30 s, which are renewed three times in their ttl.
//   - waiters: 10,000 goroutines of one process wait for a name that another client holds.
//
// # How
//
// Libraries take turns, round by round (A B A B), so that whatever else the machine does meets all of them alike. Each is
// configured as its own documentation says is best; what that is, and its version, is printed. A round that warms up
// is not counted. Figures are medians over the rounds, with their range. A ratio is taken in each
// round by itself, and its median is what is compared with a target.
//
// Whenever a name is shared, a judge watches that no two hold it at the same time and that tokens grow, across
// processes, too. If they do not, the library has failed, and so has the run: exit code 1. Exit code 2 means
// that the benchmark itself could not run.
//
// Only ratios travel between machines. Client, second process and server share the processors of this one.
//
// # Adding to it
//
// A library is a file in internal/lib and an entry in its table; a workload is a file in internal/work and an entry
// in the table of redis.go, beside the targets.
package main
