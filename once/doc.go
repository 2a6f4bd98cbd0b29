// Package once runs work once per tick, although many processes start it: a cron job that is installed on every
// machine, a report that is due each hour, a migration that every instance runs when it starts.
//
// A lock keeps two runs apart. It does not say whether the work has been done: the second process gets the lock when
// the first has released it, and works again. A [Job] remembers what is done, under the name of its lock:
//
//	job := once.New(client, "nightly-report")
//	result, err := job.Do(ctx, once.At(threeOClock), func(ctx context.Context, w *once.Work) error {
//		return writeReport(ctx, w.Token())
//	})
//
// # Promises
//
// Ticks of a job are ordered, and the job remembers the latest tick that is done.
//
//   - A tick does not run once it, or a later one, is done. So of all processes that call Do for a tick, one runs it,
//     and the others learn which, and how it ended.
//   - Only the holder of the lock records that a tick is done. If a process dies, or loses the lock while it works, the
//     tick is not done, and the next caller runs it again, with a larger token.
//
// So work that was cut short runs again. It may have had effects before it was cut short: send [Work.Token] along with
// each write, so that what is written to can refuse an older one. Work in a PostgreSQL database can record that the
// tick is done in its own transaction ([Work.Commit]). Then it takes effect exactly once.
//
// What a job remembers is as safe as the data of the engine: see [leasehold.Lease.SetData] and the page of each engine.
// If it is lost, a tick may run again.
package once
