// Package redisserver starts Redis servers for tests, benchmarks and demos, and breaks them. They
// are real servers in processes of their own, reachable from this machine only, and store nothing
// unless configured to.
//
//   - [Start], [StartReplica], [StartReplicated], [StartSentinels] and [StartCluster] return when
//     everything is ready: data loaded, replicas in sync, nodes and sentinels aware of each other. Close
//     ends what they started, and on Linux the end of this process does, too.
//   - A [Server] can be killed, stopped, paused and started again, and sent any command.
//   - [Sentinels.AwaitMaster] and [Cluster.AwaitOwner] wait for a failover; a [Migration] moves a slot
//     step by step.
//   - A [Proxy] in front of a server freezes, cuts and refuses connections, loses replies, and asks a
//     function about each request.
//   - [ForTest] and its siblings do the same for a test: they end everything with it, and skip it if
//     Redis is missing.
//
// All waits end after [Patience], with an error that says what was missing. The package needs Redis
// 7.0 or newer.
package redisserver
