// Package etcdserver starts etcd servers for tests and benchmarks, and breaks them. They are real servers in processes
// of their own that can be reached from this machine only.
//
//   - [Start] starts a server that is a cluster of its own, and [StartCluster] several that form one. They return when
//     there is a leader. Close ends what they started; on Linux the end of this process does, too.
//   - A [Server] can be killed, paused, wiped and started again on the data that it has written, and asked anything
//     over HTTP.
//   - [Cluster.Leader] waits until a majority agrees who leads.
//   - [ForTest] and [ClusterForTest] do the same for a test: they end everything with it, and skip it if etcd is not
//     installed.
//
// To break connections, put a cable of package internal/cable before a server. All waits end after [Patience], with an
// error that says what was missing. The package needs etcd 3.4 or newer.
package etcdserver
