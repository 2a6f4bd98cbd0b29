// Package zookeeperserver starts ZooKeeper servers for tests and benchmarks, and breaks them. They are real servers in processes of their own, seen
// from this machine only, with folders of their own, and write to the disk what they have said.
//
//   - [Start] and [StartEnsemble] return when all servers answer. Close ends what they started, and on Linux the end of this process does, too.
//   - A [Server] can be killed, paused and started again on its data, and asked any four-letter word. It tells what its role is and whose sessions it has.
//   - [Server.EndSession] ends a session as if it had expired, whoever it belongs to.
//   - [Ensemble.AwaitLeader] waits for an election.
//   - [ForTest] and [EnsembleForTest] do the same for a test: they end everything with it, and skip it if there is no ZooKeeper.
//
// All waits end after [Patience], with an error that says what was missing. It takes ZooKeeper 3.6 or newer, and Java.
package zookeeperserver
