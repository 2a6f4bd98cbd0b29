// Package redisfence is the resource's side of a lock for data in Redis: it refuses holders who are too late. See package fence for what that is about, and for the errors.
//
// The mark, the largest token that was seen, is a key beside the data, or a field of the hash that has the data. Each script compares the token with the mark, raises it, and does
// one thing, in one atomic step:
//
//	g, err := redisfence.Raise(ctx, rdb, redisfence.Beside("stock:7"), lease.Token())
//	if err != nil {
//		return err // errors.Is(err, fence.ErrStale): somebody with a larger token has been there
//	}
//	left, err := g.Get(ctx, "stock:7")   // raised first, then read
//	...
//	err = g.Set(ctx, "stock:7", left-1)  // refused if somebody with a larger token has come since
//
// Read with the [Guard], too. It asks the master, and a replica may not know yet what was written before the mark was raised.
//
// # What the mark relies on
//
// A mark that is gone counts as 0, and lets everybody in. It has no expiry, and raising it takes off one that somebody gave it. But allkeys policies evict it where the memory is full, and
// a failover or a restart without persistence may lose it, as it may lose what was written with it. Keep it as a [Mark.Field] of the hash that it protects: then both are lost together. Where no write may be
// lost at all, keep the data and the mark in a database.
//
// # Outcomes
//
// If no answer comes, the error is a fence.ErrUnknown: it may have been done or not. Reading, and writing the same again with the same Guard, is safe; adding is not. Nor is writing something else, since
// what was given up may still be under way, and come later: release the lock, and take it anew. The larger token keeps it out. Scripts are sent once, whatever the MaxRetries of the client.
//
// In a Cluster all keys must be in the slot of the mark. Others are refused before anything is sent.
package redisfence
