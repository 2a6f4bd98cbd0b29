// Package redisfence is the resource's side of a lock for data in Redis: it refuses writes by holders that
// have lost their lease to a later one. Package fence explains why that is needed, and has the errors.
//
// The mark, the largest token seen so far, is a key beside the data, or a field of the hash that has the
// data. Each script compares the token with the mark, raises the mark, and does one thing, in one atomic
// step:
//
//	g, err := redisfence.Raise(ctx, rdb, redisfence.Beside("stock:7"), lease.Token())
//	if err != nil {
//		return err // errors.Is(err, fence.ErrStale): somebody with a larger token has been there
//	}
//	left, err := g.Get(ctx, "stock:7")   // raised first, then read
//	...
//	err = g.Set(ctx, "stock:7", left-1)  // refused if somebody with a larger token has come since
//
// Read with the [Guard], too. It asks the master; a replica may not know yet what was written before the mark
// was raised.
//
// # What the mark relies on
//
// A missing mark counts as 0, and refuses nobody. A mark has no expiry, and raising it removes one that somebody gave
// it. But an allkeys eviction policy may remove it when the memory is full, and a failover or a restart without
// persistence may lose it, as it may lose the data. Keep the mark as a [Mark.Field] of the hash that it protects: then
// both are lost together. Where no write may be lost at all, keep the data and the mark in a database.
//
// # Outcomes
//
// If no answer comes, the error is a fence.ErrUnknown: the write may have been done or not. It is safe to read, and to
// write the same again with the same Guard. It is not safe to add, nor to write something else, since the request that
// was given up may still be in flight and arrive later. Release the lock and take it again instead: the larger token
// keeps that request out. Scripts are sent once, whatever the MaxRetries of the client.
//
// In a Cluster all keys must be in the slot of the mark. Other keys are refused before anything is sent.
package redisfence
