// Package postgresserver starts PostgreSQL servers for tests: real ones, in processes of their own, reachable from this
// machine only. They do not wait for the disk unless the Config says so.
//
//   - [Start], [StartWith] and [StartStandby] return when the server answers, and Close ends it. On Linux it also ends
//     with this process.
//   - A [Server] can be killed, stopped, paused and restarted, as a whole or one session of it, and can run any query.
//     A standby can be promoted.
//   - [StartBouncer] starts a PgBouncer in transaction mode in front of a server.
//   - [ForTest] and similar functions do the same for a test: they end everything with the test, and skip the test if
//     PostgreSQL is not installed.
//
// PostgreSQL and PgBouncer refuse to run as root: then they run as the user postgres or nobody. PostgreSQL must be
// version 13 or newer.
package postgresserver
