package leaseholdotel

import "go.opentelemetry.io/otel/attribute"

// The attributes of spans and their events.
const (
	// Name is the name of the lock, see WithoutNames.
	Name = attribute.Key("lock.name")
	// Kind is lock, semaphore or latch.
	Kind = attribute.Key("lock.kind")
	// Shared is true for read locks.
	Shared = attribute.Key("lock.shared")
	// Resource is the label of the lock, or "default" if it has none. Metrics are counted by it.
	Resource = attribute.Key("lock.resource")
	// Token is the fencing token of the lease. Both spans of a lease have it.
	Token = attribute.Key("lock.token")
	// Waited is how long the call took, in seconds.
	Waited = attribute.Key("lock.waited")
	// HandedOver is true for a lease that was handed over by another holder in this process.
	HandedOver = attribute.Key("lock.handed_over")
	// Reason is why a call got no lease: held, timeout, deadline, cancelled, unavailable, closed, ended,
	// too_many_waiters, full, upgrade or other.
	Reason = attribute.Key("lock.reason")
	// Outcome is how a lease ended: ok if its release was confirmed, lost, or unknown if the engine did not confirm the
	// release.
	Outcome = attribute.Key("lock.outcome")
	// Loss is how a lease was lost: refused, deadline, dropped, not_renewed or max_hold, see [leasehold.Loss].
	Loss = attribute.Key("lock.loss")
	// Renewals is the number of renewals of the lease that succeeded, and FailedRenewals the number of those that
	// failed.
	Renewals       = attribute.Key("lock.renewals")
	FailedRenewals = attribute.Key("lock.renewals_failed")
	// Left is how much of the lease is left, in seconds.
	Left = attribute.Key("lock.left")
)
