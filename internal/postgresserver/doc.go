// Package postgresserver starts PostgreSQL servers for tests: real ones, in processes of their own, seen from this machine only, and not careful with
// the disk unless they are told to be.
//
//   - [Start], [StartWith] and [StartStandby] return when the server answers, and Close ends it. On Linux it also ends with this process.
//   - A [Server] can be killed, stopped, paused and started again, whole or one session of it, and asked anything. A standby can be promoted.
//   - [StartBouncer] starts a PgBouncer in transaction mode in front of a server.
//   - [ForTest] and its likes do the same for a test: they end everything with it, and skip it if there is no PostgreSQL.
//
// PostgreSQL and PgBouncer refuse to run as root: then they run as the user postgres, or nobody. It takes PostgreSQL 13 or newer.
package postgresserver
