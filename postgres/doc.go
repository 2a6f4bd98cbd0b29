// Package postgres is an engine that keeps locks in a PostgreSQL database, version 13 or newer. It is for programs that
// already have one.
//
//	engine, err := postgres.Open(ctx, "postgres://app@db.example.org/app")
//	locks := leasehold.New(engine)
//
// A lock can be tied to a transaction of the same database ([Engine.Guard]): whatever is committed under the lock is
// committed before somebody else is granted it, however long the program was paused. [RowLock] locks rows of your own
// tables.
//
// # How it works
//
// Leases are rows of an unlogged table, and expire by the clock of the server. A request is one call of an SQL function
// and one transaction, except that requests of several goroutines for free names share one. A name that nobody else
// holds or waits for is taken and released by a single update of its row. All other requests first lock the name
// (pg_advisory_xact_lock). The tokens of all names come from one sequence.
//
// A release hands the lock over to the head of the queue in the same transaction, and notifies its process with NOTIFY.
// So waiters do not have to poll: a process in which somebody waits has one more connection, which listens. It polls
// only when the lease in the way should have expired, or after 10 s, in case a notification was lost. A waiter lives as
// long as that connection. If its process dies, it is passed over at once (or after 5 s, if the lock was just being
// handed over to it). If its machine vanishes, it is passed over after half a minute. [WithPolling] does without the
// connection.
//
// # What it promises
//
// Exclusion; tokens that grow with each grant of any name; and order: waiters are served in the order in which they
// have joined, and nobody overtakes them. Latches and the records of forced releases are in logged tables.
//
// Changes of unlogged tables write only the few bytes of a commit to the log, and are not flushed to the disk.
// PostgreSQL empties such tables after a crash, and on a standby that is promoted. The next request notices that,
// because a certain row is missing, and the crash guard closes: nothing is granted until the longest lease that any
// engine of the schema grants has expired ([WithMaxTTL], 1 minute by default), and tokens continue above all that may
// have been given. Meanwhile a try fails with a [*ClosedError], and waiters go on waiting. With [WithoutCrashGuard]
// leases are granted at once.
//
// # Which faults break what
//
//   - A process is killed at any moment, or paused: nothing breaks. Its locks end with their leases. What it commits
//     later is refused by [Engine.Guard], or by a resource that compares tokens.
//   - A connection breaks, or an operator ends it: nothing breaks. A request whose answer was lost is undone or
//     repeated. The listening connection is made again, and waiters keep their places, unless another request came to
//     their queue in between: then they join again at its end.
//   - An operator restarts the server: nothing breaks, and leases go on.
//   - The server crashes: all leases are lost, and their holders learn it at the next renewal. Nothing is granted
//     twice, unless WithoutCrashGuard is set. Latches survive.
//   - A standby is promoted, and the old primary is down: the same as a crash. If replication is asynchronous, the
//     latest changes of latches and records may be missing. If an engine had just used a longer ttl than all engines
//     before, and this was not replicated yet, the new primary does not wait for that ttl.
//   - A standby is promoted while the old primary still serves: both grant. Whatever promotes must fence off the old
//     primary. Comparing tokens does not help, because both servers give tokens.
//   - The clock of the server is set forward: leases end earlier by as much, and two owners may hold a lock at once.
//     Guarded transactions stay safe. If the clock is set back, leases that are not released last longer. Have the
//     clock slewed.
//   - The database is restored from a dump, or copied by the server: leases are gone, and the crash guard closes as
//     after a crash. Tokens continue from the clock, so they grow, unless more than a million per second (64 for each
//     grant) were given on average since the tables were made.
//   - The files of the database are restored from a copy that was made while the server was shut down: nothing looks
//     lost, so the crash guard stays open, and tokens go back. REFRESH MATERIALIZED VIEW leasehold.origin closes the
//     crash guard and raises the tokens.
//   - A transaction of any program stays open in the database for long: PostgreSQL cannot remove rows that it may still
//     see, so a name that is locked thousands of times meanwhile becomes slow. A separate database for the locks avoids
//     that.
//   - The server crashes while a name is kept taken (AtLeast) for longer than the longest lease: the name is free again
//     as soon as the longest lease would have expired.
//   - Somebody locks rows of the tables by hand: a request for such a row ends with its context, and renewals of other
//     leases go on.
//
// # Poolers
//
// PgBouncer in transaction mode does not pass notifications on, so engines behind it need polling=on. [Open] then has
// pgx prepare no statements (default_query_exec_mode=exec), unless the URL says otherwise. It may do so if the pooler
// supports prepared statements (max_prepared_statements).
//
// # Rights
//
// The first lock makes the tables. Its user needs CREATE on the database, or on the schema if that exists.
// docs/engines/postgres.md has the grants for users who only list, who lock, and who release by force. A request that
// lacks a right fails with a [*RightsError].
//
// The tables contain the owner secrets of holders and waiters; users who only list need no right to read these. Anybody
// who may connect to the database can listen to notifications, and can send some. Forged notifications make waiters
// poll too early or up to ten seconds late, but are never taken for a grant. Anybody who may connect can also take the
// advisory locks of names, which blocks all others: let only those in whom you trust that far.
//
// Notifications, and the arguments of functions in pg_stat_activity, show no secrets, as long as statements have
// parameters (in the mode simple_protocol, pgx writes them into the text). The log of a server that logs statements
// with their parameters shows them: set log_parameter_max_length to 0 there.
//
// The dependency is pgx (github.com/jackc/pgx/v5). It distinguishes a request that was not sent from one that may have
// had an effect, and it cancels requests that nobody waits for any more.
package postgres
