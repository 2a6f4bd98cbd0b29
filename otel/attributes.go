package leaseholdotel

import "go.opentelemetry.io/otel/attribute"

// The attributes of spans and their events.
const (
	// Name is the name of the lock, see WithoutNames.
	Name = attribute.Key("lock.name")
	// Kind is lock, semaphore or latch.
	Kind = attribute.Key("lock.kind")
	// Shared is true of read locks.
	Shared = attribute.Key("lock.shared")
	// Resource is the label of the lock, and "default" if it has none: what metrics are counted by.
	Resource = attribute.Key("lock.resource")
	// Token is the fencing token of the lease. It is on both spans of a lease.
	Token = attribute.Key("lock.token")
	// Waited is how long the call took, in seconds.
	Waited = attribute.Key("lock.waited")
	// HandedOver is true of a lease that came from another holder in this process.
	HandedOver = attribute.Key("lock.handed_over")
	// Reason is why a call got no lease: held, timeout, deadline, cancelled, unavailable, closed, ended, upgrade or other.
	Reason = attribute.Key("lock.reason")
	// Outcome is how a lease ended: ok if its release was confirmed, lost, or unknown if the engine did not confirm the release.
	Outcome = attribute.Key("lock.outcome")
	// Loss is how a lease was lost that was not released: refused, deadline, dropped, not_renewed or max_hold, see [leasehold.Loss].
	Loss = attribute.Key("lock.loss")
	// Renewals is how many renewals of the lease succeeded, and FailedRenewals how many did not.
	Renewals       = attribute.Key("lock.renewals")
	FailedRenewals = attribute.Key("lock.renewals_failed")
	// Left is how much is left of the lease, in seconds.
	Left = attribute.Key("lock.left")
)
