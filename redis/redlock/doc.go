// Package redlock is an engine that keeps each lock on a majority of several independent Redis masters, so that it
// survives the loss of some of them: one of three, two of five. The servers know nothing of each other; none of them is
// a replica or part of a Cluster.
//
// # Promises
//
// Tokens grow with each grant, whatever clocks, pauses and networks do, as long as the counters survive; a model of the
// protocol has been checked for that. Servers that crash and come back empty go on from the clocks of the clients, so
// tokens grow as long as these clocks differ by less than the longest ttl.
//
// A name has one holder at a time as long as fewer than half of the servers forget leases early, because their clocks
// run fast, say, or because somebody flushes them. A server that was restarted, with or without persistence, does not
// vote until the longest lease has passed ([redis.WithMaxTTL], a minute by default). No operator is needed for that.
//
// # Costs
//
// A free lock costs one request to each server, all at the same time, and the answers of a majority decide. A server
// that is frozen or unreachable costs nothing. Waiters queue on one server, and are notified when it is their turn.
//
// There are no read locks, permits or latches: majorities of different holders overlap, so nobody could count them.
//
// In the repository, docs/redlock.md says what it assumes, and
// docs/decisions/0020-a-quorum-over-whole-engines.md has the protocol.
package redlock
