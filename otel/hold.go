package leaseholdotel

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold-go/leasehold"
)

// maxRenewalEvents is how many renewals of a lease become events. A lease may be renewed for months, and a span keeps
// only a limited number of events: routine renewals must not displace the events of failures.
const maxRenewalEvents = 32

// hold is a lease that was granted and has not ended.
type hold struct {
	span       trace.Span
	endedEarly func(*hold) // ends the span; set if the end was observed before the grant, when there was no span yet

	mu               sync.Mutex
	renewals, failed int
	failing          bool // the latest renewal has failed
}

// begin stores the span of a lease that was granted.
func (o *Observer) begin(key lease, span trace.Span) {
	h := &hold{span: span}
	o.mu.Lock()
	before := o.holds[key]
	if before != nil && before.endedEarly != nil {
		delete(o.holds, key)
	} else {
		o.holds[key] = h
	}
	o.mu.Unlock()
	switch {
	case before == nil:
	case before.endedEarly != nil:
		before.endedEarly(h)
	default:
		// a lease of another client whose engine counts tokens on its own: they cannot be told apart any more
		before.end(codes.Unset, "")
	}
}

// end runs f for a lease that has ended, and forgets the lease. If the client is closed at the moment of the grant, the
// end may be observed before the grant.
func (o *Observer) end(key lease, f func(*hold)) {
	o.mu.Lock()
	h := o.holds[key]
	if h == nil || h.endedEarly != nil {
		o.holds[key] = &hold{endedEarly: f}
		o.mu.Unlock()
		return
	}
	delete(o.holds, key)
	o.mu.Unlock()
	f(h)
}

// withHold runs f for a lease that is held.
func (o *Observer) withHold(key lease, f func(*hold)) {
	o.mu.Lock()
	h := o.holds[key]
	o.mu.Unlock()
	if h != nil && h.endedEarly == nil {
		f(h)
	}
}

// noteRenewed adds an event for a renewal: for the first ones, for the first failure, and for the first success after
// it.
func (h *hold) noteRenewed(r leasehold.Renewed) {
	h.mu.Lock()
	event, tell := "renewed", h.failing || h.renewals < maxRenewalEvents
	if r.Err == nil {
		h.renewals++
	} else {
		event, tell = "renewal failed", !h.failing
		h.failed++
	}
	h.failing = r.Err != nil
	h.mu.Unlock()
	if tell {
		h.span.AddEvent(event, trace.WithAttributes(Left.Float64(r.Slack.Seconds())))
	}
}

// end ends the span.
func (h *hold) end(status codes.Code, text string, more ...attribute.KeyValue) {
	h.mu.Lock()
	more = append(more, Renewals.Int(h.renewals), FailedRenewals.Int(h.failed))
	h.mu.Unlock()
	h.span.SetAttributes(more...)
	h.span.SetStatus(status, text)
	h.span.End()
}
