package leaseholdotel

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold-go/leasehold"
)

// eventful is how many renewals of a lease are events. A lease may be renewed for months, and a span keeps few events: those of trouble must not be
// driven out by those of all being well.
const eventful = 32

// hold is a lease that was granted and has not ended.
type hold struct {
	span  trace.Span
	early func(*hold) // what its end does, if that was told before the grant, and there is no span yet

	mu               sync.Mutex
	renewals, failed int
	failing          bool // the last renewal failed
}

// begin takes in the span of a lease that was granted.
func (o *Observer) begin(key lease, span trace.Span) {
	h := &hold{span: span}
	o.mu.Lock()
	before := o.holds[key]
	if before != nil && before.early != nil {
		delete(o.holds, key)
	} else {
		o.holds[key] = h
	}
	o.mu.Unlock()
	switch {
	case before == nil:
	case before.early != nil:
		before.early(h)
	default:
		before.end(codes.Unset, "") // of another client, whose engine counts on its own: nobody could tell them apart any more
	}
}

// end runs f for a lease that has ended, and forgets it. The client may be closed at the moment of the grant, and then the end is told first.
func (o *Observer) end(key lease, f func(*hold)) {
	o.mu.Lock()
	h := o.holds[key]
	if h == nil || h.early != nil {
		o.holds[key] = &hold{early: f}
		o.mu.Unlock()
		return
	}
	delete(o.holds, key)
	o.mu.Unlock()
	f(h)
}

// on runs f for a lease that is held.
func (o *Observer) on(key lease, f func(*hold)) {
	o.mu.Lock()
	h := o.holds[key]
	o.mu.Unlock()
	if h != nil && h.early == nil {
		f(h)
	}
}

// renewed makes an event of a renewal: of the first ones, of the first that fails, and of the first that succeeds after it.
func (h *hold) renewed(r leasehold.Renewed) {
	h.mu.Lock()
	event, tell := "renewed", h.failing || h.renewals < eventful
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
