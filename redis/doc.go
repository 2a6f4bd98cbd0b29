// Package redis is an engine that keeps locks in Redis: on a single server, on servers that Sentinels watch, or in
// a Cluster. Any number of machines share them. It needs Redis 7.0 or later.
//
// # Opening
//
// The engine works with a client of [go-redis] that you make, and that stays yours:
//
//	rdb := goredis.NewClient(&goredis.Options{
//		Addr:                  "localhost:6379",
//		ContextTimeoutEnabled: true, // a request ends with its context
//	})
//	engine, err := redis.New(rdb)
//	if err != nil {
//		return err
//	}
//	client := leasehold.New(engine)
//
// Close the client of leasehold first, then the engine, then the client of go-redis. NewFailoverClient (Sentinel) and
// NewClusterClient make clients for the other places. What hundreds of goroutines want at the same time goes to a server
// together. In a Cluster that takes an AutoPipeliner instead of the client. [Open] takes a URL and makes a client of its
// own: that is what the command does.
//
// # What it promises
//
// Exclusion: who holds a name stands in one key, which a script takes only if nobody has it, and which ends by
// itself when the lease does. The key is "lock:" and the name. Every client that locks this key with SET NX PX, and unlocks it
// with a script that compares and deletes, excludes leasehold and is excluded.
//
// Order: tokens count up in a key beside it, and are never smaller than the client's clock in microseconds. So they go on growing
// where the key is lost or has ended, as long as the clocks of clients differ by less than the time between the last grant that was
// lost and the next one, and a name gets fewer than a million tokens a second.
//
// Those who wait stand in a queue on the server, in the order in which they came. A release hands the lock to the first of them in
// the same script, and tells it by a message (PUBLISH, in a Cluster SPUBLISH). Nobody polls, but everybody looks every ten seconds at the
// latest, in case that a message was lost. A waiter that has died does not hear the message and is passed over.
//
// # The failover guard
//
// A server that was promoted, or that was started with less data than it had, may not know of leases that still run, and would grant
// them a second time. So no lease is granted for [WithMaxTTL], by default a minute, after an engine first meets a
// server that has not been the master before, and in a Cluster after a slot was moved. Renewals and releases go on. By then all leases from before have
// ended, or have been renewed on the new server.
//
// A new server looks the same as a spare that stands in for one on which locks are held, however long it has run. So on a server that nobody has seen in use
// a try fails with a [*ClosedError] for the first minute, and those who wait, wait, and are told so. [Engine.OpenNow] and the command leasehold open declare
// a new server open. In tests, and on a developer's machine, use [WithoutFailoverGuard].
//
// The guard cannot see a master that goes on although another was promoted, nor data that is lost while the server runs: by eviction, by
// FLUSHALL, by a wall clock that is set forward. The page of the engine, docs/engines/redis.md, has a table of faults, and the settings that
// Redis needs.
//
// # Rights
//
// The page of the engine has the smallest rights, as words of ACL SETUSER: for those who only look, which takes no right to write, for programs that
// lock, and for those who take locks away. What is missing is noticed when a
// server is met, before anything is changed, and is a permanent error. Without the right to subscribe or to publish the engine
// works all the same: waiters then ask again and again, as with [WithPolling].
//
// The values of the keys hold the secrets by which the engine knows the holders. Whoever can read them can
// release what others hold.
//
// [go-redis]: https://pkg.go.dev/github.com/redis/go-redis/v9
package redis
