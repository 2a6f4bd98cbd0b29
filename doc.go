// Package leasehold provides distributed locks with fencing tokens. A holder is told when its lock is lost.
//
//	client := leasehold.New(engine)
//	m := client.Mutex("order:1001", leasehold.TTL(10*time.Second))
//
//	lease, err := m.Lock(ctx) // waits; m.TryLock(ctx) does not
//	if err != nil {
//		return err
//	}
//	defer lease.Release() // works when ctx is cancelled, too
//
//	// Do the work with lease.Context(): it is cancelled the moment the lock is lost.
//	// Send lease.Token() along with each write, so that the resource can refuse older ones.
//
// An engine is where locks are kept: package memory (this process, for tests), or one of the modules sqlite (one
// machine), redis (many machines; its package redlock for a majority of independent servers), postgres, etcd and
// zookeeper. What each can do differs (docs/engines). All give the same two promises:
//
//   - Order. For one name, a later grant has a larger token than an earlier one, whatever clocks, pauses and networks
//     do, as long as the engine's counters survive.
//   - Exclusion. From the return of Lock until Release or [Lease.Deadline], whichever is first, nobody else holds the
//     name, as long as the rates of clocks differ by less than the stated drift (1 % of the ttl + 2 ms) and the
//     engine keeps what it acknowledged.
//
// Nothing else is promised. In particular, a paused program is not stopped: that is what the token is for.
//
// A lease is renewed every third of its ttl until it is released or lost, unless [NoRenew] or [MaxHold] says otherwise.
// If renewal fails, [Lease.Context] is cancelled with the cause, at the deadline at the latest, even when the engine
// hangs.
//
// Everything in this package is safe for concurrent use. The package prints nothing; see [WithLogger] and
// [WithObserver].
package leasehold
