// Package redisson is an engine that keeps locks as Redisson does, the Java library: on the same keys and channels of a
// Redis server, of servers that Sentinels watch, or of a Redis Cluster. Programs in Go and in Java exclude each other,
// and an unlock wakes the waiters of both. It needs Redis 7.0 or later.
//
//	engine, err := redisson.New(rdb) // rdb is a client of go-redis
//	if err != nil {
//		return err
//	}
//	client := leasehold.New(engine)
//	lease, err := client.Mutex("orders").Lock(ctx) // getFencedLock("orders") or getLock("orders") in Java
//
// [WithLock] chooses the object of Redisson: a lock with tokens unless said otherwise. Semaphores are kept as
// RPermitExpirableSemaphore, latches as RCountDownLatch. Package objects, below this one, has Redisson's locks under
// Redisson's own names.
//
// # What it promises
//
// Exclusion, as on the engine of package redis, but not over a failover or a restart without the data: the new server
// grants at once what the old one had granted. Redisson's keys have no place for a guard.
//
// Order: tokens count up in the key that RFencedLock uses. Programs in Java that lock without a token do not count, and
// tokens begin again if the counter is lost.
//
// Waiters are notified by the messages that Redisson sends, and ask again at the latest when the lease of the holder
// would end, or after ten seconds. They are served in no order, except with [Fair].
//
// The page docs/redisson.md of the project lists the objects, the keys, what differs from Redisson on purpose, and the
// smallest rights.
package redisson
