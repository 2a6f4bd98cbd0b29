// Package fence is the resource's side of a lock: it refuses holders who are too late.
//
// A lock cannot stop a holder who was paused past the end of its lease, nor a write that was under way for long. But each lease has a token,
// larger than those of all earlier leases of its name. So the resource keeps a mark, the largest token that it has seen, and refuses
// smaller ones with [ErrStale]. It is for exclusive locks: holders of read locks and of permits hold together, with different tokens, and none
// of them is too late.
//
// # The order
//
// First raise the mark, then read, then write. Who reads before it has raised may read what an older holder, who is not refused yet, is
// about to change. So the order is part of this package: what can write comes of raising the mark.
//
//	marks := fence.Table{Name: "marks"}
//	err := fence.Do(ctx, db, marks.Mark(lease.Name()), lease.Token(), func(tx *fence.Guard) error {
//		// read and write with tx: the mark has been raised, and who raises it further waits for the end of the transaction
//	})
//
// Work that takes several transactions begins each with the same token. If the second one is not refused, nobody with a larger token was
// there in between, so what was read in the first is still true.
//
// # Where marks are
//
//   - [Table] is a table of names and tokens beside your own tables, [Column] a column of one of them. They work with [Do] and [Raise] in
//     PostgreSQL and SQLite, over database/sql.
//   - Package redisfence, in the module redis, keeps marks in Redis.
//   - [Memory] keeps them in this process.
//   - [Versioned] is less: a single conditional write, for values that do not depend on what was read before.
//
// # HTTP
//
// [Transport] sends the token of the request's context. [Required] wants one, and leaves raising to the handler, which writes to a store of its
// own; nothing else is safe with several servers. A [Gate] is for what has no store to raise a mark in: it lets the work of a newer token begin only when that of older
// ones has ended, within one process. [Refuse] answers as RFC 9457 has it, and [FromResponse] reads that.
//
// The documents docs/fencing.md and docs/fencing-sql.md say more.
package fence
