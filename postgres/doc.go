// Package postgres is an engine that keeps locks in a PostgreSQL database, version 13 or newer, for programs that have one already.
//
//	engine, err := postgres.Open(ctx, "postgres://app@db.example.org/app")
//	locks := leasehold.New(engine)
//
// A lock can be tied to a transaction of the same database ([Engine.Guard]): what is committed under the lock is committed before somebody else is
// granted it, whatever pauses there were. A lock on a row of the caller's own is [RowLock].
//
// # How it works
//
// Leases are rows of an unlogged table, and end by the clock of the server. A request is one call of a function, and a transaction by itself, unless
// requests of many goroutines for free names are done in one. A name that nobody else holds or waits for is taken and let go by one update of its row;
// all other requests work on one name at a time (pg_advisory_xact_lock). Tokens come from one sequence for all names.
//
// Who lets go hands the lock on to the head of the queue, in the same transaction, and tells its process with NOTIFY. So waiting costs no polling: a
// process that waits for anything has one more connection, which listens, and looks only when the lease of the holder would have ended, or after
// 10 s, in case that a message was lost. A waiter lives as long as that connection: one whose process has died is passed over at once (or after 5 s, if
// the lock was just being handed to it), and one whose machine has vanished after half a minute. [WithPolling] does without.
//
// # What it promises
//
// Exclusion, tokens that grow with each grant of whatever name, and order: waiters are served as they have joined, and nobody overtakes them. Latches
// and the records of forced releases are in logged tables.
//
// Rows of unlogged tables cost nothing in the log but the few bytes of a commit, and no flush to the disk, and PostgreSQL forgets them in a crash,
// and on a standby that is promoted. Whoever comes first after that notices, by a row that is missing, and closes the place: nothing is granted until
// the longest lease that any engine of the schema gives has ended ([WithMaxTTL], 1 minute by default), and tokens go on above all that may have been
// given. A try fails with a [*ClosedError] meanwhile, and those who wait, wait. [WithoutCrashGuard] grants at once.
//
// # Which faults break what
//
//   - A process is killed, at any moment, or paused: nothing breaks. Its locks end with their leases. What it commits later is refused by
//     [Engine.Guard], or by a resource that compares tokens.
//   - A connection breaks, or is ended by an operator: nothing breaks. A request whose answer is lost is undone or repeated. The connection that
//     listens is made anew, and those who wait keep their places, unless somebody came by in between: then they join again, at the end.
//   - The server is restarted by an operator: nothing breaks, and leases go on.
//   - The server crashes: all leases are lost, which their holders learn at the next renewal. Nothing is granted twice, unless WithoutCrashGuard is
//     set. Latches stay.
//   - A standby is promoted, and the old primary is down: the same as a crash. If replication is asynchronous, the latest changes of latches and
//     records may be missing. An engine that has used a longer ttl than all others before for the first time just then, and whose noting of it was
//     not copied, is not waited for.
//   - A standby is promoted while the old primary still serves: both grant. Let the old one be fenced off by what promotes; resources that compare
//     tokens are not safe from it either, since both give tokens.
//   - The clock of the server is set forward: leases end early by as much, and two may hold a lock at once. Guarded transactions stay safe. If it is
//     set back, leases that were not released last longer. Let it be slewed.
//   - The database is restored from a dump, or copied by the server: leases are gone, and the place closes as after a crash. Tokens go on from the clock, so
//     they grow unless more than a million (64 for each grant) were given each second on average since the place was made.
//   - The files of the database are put back from a copy that was made while the server was shut down: nothing looks lost, so nothing is closed, and
//     tokens go back. REFRESH MATERIALIZED VIEW leasehold.origin closes it, and raises them.
//   - A transaction stays open for long, of any program in the database: PostgreSQL cannot clean up what it may still see, so a name that is locked
//     thousands of times meanwhile becomes slow. A database for the locks alone has that trouble not.
//   - The server crashes while a name is kept taken (AtLeast) for longer than the longest lease: it is free again when that one would have ended.
//   - Somebody locks rows of the tables by hand: a request for such a row ends with its context, and renewals of other leases go on.
//
// # Poolers
//
// PgBouncer in transaction mode does not pass messages on, so engines behind it need polling=on. Then [Open] has pgx prepare nothing
// (default_query_exec_mode=exec), unless the URL says otherwise, as it may where the pooler knows of prepared statements (max_prepared_statements).
//
// # Rights
//
// The first lock makes the tables: its user needs CREATE on the database, or on the schema if that is there. docs/engines/postgres.md has the grants for
// users who only look, who lock, and who take locks away. A request that lacks one fails with a [*RightsError]. The tables hold the owner secrets of those
// who hold and wait, which who only looks need not see. Whoever may connect to the database can listen to messages, and send some that make waiters look too
// early or up to ten seconds late, but none that is taken for a grant; and take the advisory locks of names, which keeps others from those: let nobody in who
// is not trusted so far. Messages and the arguments of functions in pg_stat_activity show no secrets,
// as long as statements have parameters (pgx in the mode simple_protocol writes them into the text). The log of a server that logs statements with
// their parameters shows them: set log_parameter_max_length to 0 there.
//
// The dependency is pgx (github.com/jackc/pgx/v5), which tells apart what was not sent from what may have had an effect, and cancels what nobody
// waits for any more.
package postgres
