// Package pgxfence is package fence for programs that use pgx without database/sql. Read about marks, their order and
// their errors there.
//
//	marks := fence.Table{Name: "marks"}
//	err := pgxfence.Do(ctx, pool, marks.Mark(lease.Name()), lease.Token(), func(tx *pgxfence.Guard) error {
//		// Read and write with tx. The mark has been raised. To raise it, others wait for the transaction.
//	})
//
// It has [Do] and [Raise] for transactions, [Write] for a single conditional write, and [Marks] for a gate of package
// fence. It needs PostgreSQL, and none of the tables of the engine postgres: the locks may be on any engine.
package pgxfence
