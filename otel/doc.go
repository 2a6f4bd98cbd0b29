// Package leaseholdotel makes OpenTelemetry spans of what a leasehold client does:
//
//	client := leasehold.New(engine, leasehold.WithObserver(leaseholdotel.New()))
//
// Each call that asks for a lease becomes a span lock.acquire, from the call to the grant or the error. Each lease
// becomes a span lock.hold, from the grant to its end, with events for renewals, danger and loss. Both are children of
// the span in the context of the call. The second links to the first, since a call may end long before its lease does.
// Spans that are made while the lease is held are not children of lock.hold: their parent comes from their own context,
// as without locks.
//
// OpenTelemetry has no convention for locks. The document docs/tracing.md of the project describes the attributes and
// everything else.
//
// The name of the package differs from that of its folder, so that it does not collide with the package otel, which
// programs import along with it:
//
//	import leaseholdotel "github.com/leasehold-go/leasehold/otel"
package leaseholdotel
