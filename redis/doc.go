// Package redis is an engine that keeps locks in Redis: on a single server, on servers that Sentinels watch, or in a
// Cluster. Any number of machines share them. It needs Redis 7.0 or later.
//
// # Opening
//
// The engine works with a client of [go-redis] that you make and own:
//
//	rdb := goredis.NewClient(&goredis.Options{
//		Addr:                  "localhost:6379",
//		ContextTimeoutEnabled: true, // a request ends at the deadline of its context
//	})
//	engine, err := redis.New(rdb)
//	if err != nil {
//		return err
//	}
//	client := leasehold.New(engine)
//
// Close the client of leasehold first, then the engine, then the client of go-redis. NewFailoverClient makes a client
// for servers behind Sentinels, NewClusterClient one for a Cluster. Requests that many goroutines make at the same time
// go to a server together. In a Cluster, that needs an AutoPipeliner instead of the client. [Open] takes a URL and
// makes its own client, as the command does.
//
// # What it promises
//
// Exclusion: one key names the holder of a lock. A script sets it only if nobody holds the lock, and the key expires
// with the lease. The key is "lock:" and the name. Every client that locks this key with SET NX PX, and unlocks it with
// a script that compares and deletes, excludes leasehold and is excluded by it.
//
// Order: tokens count up in a second key, and are never smaller than the client's clock in microseconds. So they keep
// growing when that key is lost or has expired, as long as the clocks of clients differ by less than the time between
// the last lost grant and the next one, and a name is granted fewer than a million tokens a second.
//
// Waiters queue on the server in the order in which they came. A release hands the lock over to the first waiter in the
// same script, and notifies it by a message (PUBLISH; in a Cluster SPUBLISH). Waiters that are notified still poll, in
// case a message was lost or a holder has died: at least every ten seconds, and the first one of the queue also when
// the lease ahead of it ends. A waiter that has died does not receive the message and is skipped.
//
// # The failover guard
//
// A server that was promoted, or that was started with less data than it had, may lack leases that still run, and would
// grant them a second time. So an engine that finds a server that was not the master before grants no lease for
// [WithMaxTTL], by default a minute. The same holds in a Cluster after a slot was moved. Renewals and releases go on.
// By the end of that time, all earlier leases have ended or have been renewed on the new server.
//
// A new server looks the same as one that has lost its data, or a spare that replaces one with held locks, however long
// it has run. So on a server that has no record of earlier use, TryLock fails for the first minute: its error wraps a
// [*ClosedError]. Lock waits; an observer of waits is told why, and so is a caller whose wait ends without the lock.
// [Engine.OpenNow] and the command leasehold open declare a new server open. In tests, and on a developer's machine,
// use [WithoutFailoverGuard].
//
// The guard cannot see a master that goes on although another was promoted, nor data that is lost while the server
// runs: by eviction, by FLUSHALL, or by a wall clock that is set forward. docs/promises.md has a table of faults, and
// docs/engines/redis.md the settings that Redis needs.
//
// # Rights
//
// The engine's page lists the smallest rights, as words of ACL SETUSER, for three kinds of users: those that only list
// locks, which need no right to write; programs that lock; and operators that release locks by force. Missing rights
// are noticed when the engine first uses a server, before anything is changed, and are a permanent error. Without the
// right to subscribe or to publish the engine still works: waiters then poll, as with [WithPolling].
//
// The values of the keys hold the secrets by which the engine recognizes holders. Whoever can read them can release
// what others hold.
//
// [go-redis]: https://pkg.go.dev/github.com/redis/go-redis/v9
package redis
