// Package leaseholdotel makes OpenTelemetry spans of what a leasehold client does:
//
//	client := leasehold.New(engine, leasehold.WithObserver(leaseholdotel.New()))
//
// Each call that asks for a lease is a span lock.acquire, from the call to the grant or to the error. Each lease is a span lock.hold, from the
// grant to its end, with events for renewals, for danger and for loss. Both are children of the span in the context of the call. The one links to
// the other, since a call may end long before its lease does. Spans that are made under the lease are no children of lock.hold: they have the parent that
// their own context tells, as without locks.
//
// There is no convention of OpenTelemetry for locks. The attributes, and what else there is to know, are told in
// docs/tracing.md of the project.
//
// The name of the package differs from its folder, so that it can stand beside the package otel that everybody imports with it:
//
//	import leaseholdotel "github.com/leasehold-go/leasehold/otel"
package leaseholdotel
