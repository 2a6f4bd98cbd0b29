// Package zookeeperserver starts ZooKeeper servers for tests and benchmarks, and injects faults into them. They are
// real servers in processes of their own, reachable from this machine only, with folders of their own, and write their
// data to disk.
//
//   - [Start] and [StartEnsemble] return when all servers answer. Close ends what they started, and on Linux the end
//     of this process does, too.
//   - A [Server] can be killed, paused and restarted on its data, and asked any four-letter word. It tells its role
//     and the sessions of its clients.
//   - [Server.EndSession] ends a session as if it had expired, whoever it belongs to.
//   - [Ensemble.AwaitLeader] waits for an election.
//   - [ForTest] and [EnsembleForTest] start servers for a test: they end with it, and the test is skipped if there is
//     no ZooKeeper.
//
// All waits end after [Patience], with an error that says what was missing. ZooKeeper 3.6 or newer and Java must be
// installed.
package zookeeperserver
