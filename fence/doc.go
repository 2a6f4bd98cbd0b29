// Package fence is the resource's side of a lock: it refuses holders that are too late.
//
// A lock cannot stop a holder that was paused past the end of its lease, or a write that was in flight for long. But
// each lease has a token that is larger than those of all earlier leases of its name. So the resource keeps a mark, the
// largest token that it has seen, and refuses smaller tokens with [ErrStale]. Fencing is for exclusive locks: readers,
// and holders of permits, hold at the same time with different tokens, and none of them is too late.
//
// # The order
//
// First raise the mark, then read, then write. A holder that reads before it has raised the mark may read what an older
// holder, which is not refused yet, is about to change. This package enforces the order: only raising the mark yields
// something that can write.
//
//	marks := fence.Table{Name: "marks"}
//	err := fence.Do(ctx, db, marks.Mark(lease.Name()), lease.Token(), func(tx *fence.Guard) error {
//		// Read and write with tx. The mark has been raised. To raise it, others wait for the transaction.
//	})
//
// Work that takes several transactions begins each of them with the same token. If the second one is not refused, no
// holder with a larger token was there in between, so what was read in the first one is still true.
//
// # Where marks are
//
//   - [Table] is a table of names and tokens next to your own tables, and [Column] is a column of one of yours. They
//     work with [Do] and [Raise] in PostgreSQL and SQLite, over database/sql.
//   - Package pgxfence, in the module postgres, uses the same over pgx.
//   - Package redisfence, in the module redis, keeps marks in Redis.
//   - [Memory] keeps them in this process.
//   - [Versioned] does less: it is a single conditional write, for values that do not depend on what was read before.
//
// # HTTP
//
// [Transport] sends the token of the request's context. [Required] demands a token and leaves raising the mark to the
// handler, which writes to a store of its own; with several servers nothing else is safe. A [Gate] is for resources
// without a store in which a mark could be raised: within one process, it lets the work of a newer token begin only
// when the work of older tokens has ended. [Refuse] answers as in RFC 9457, and [FromResponse] reads such answers.
//
// The documents docs/fencing.md and docs/fencing-sql.md say more.
package fence
