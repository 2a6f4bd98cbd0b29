package leaseholdotel

import (
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/reason"
)

// scope is the name of the instrumentation.
const scope = "github.com/leasehold-go/leasehold/otel"

// Observer makes spans of events. Pass it to [leasehold.WithObserver]. Each client needs an observer of its own. It
// starts no goroutine and need not be closed. It keeps one entry for each lease that is held, until the lease ends. It
// is safe for concurrent use.
type Observer struct {
	tracer trace.Tracer
	names  bool

	mu    sync.Mutex
	holds map[lease]*hold
}

// lease identifies a lease of a client.
type lease struct {
	kind  driver.Kind
	name  string
	token uint64
}

// Option is a setting of an Observer.
type Option func(*Observer)

// WithTracerProvider sets where spans go. Defaults to the global provider, also for nil.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(o *Observer) {
		if p != nil {
			o.tracer = p.Tracer(scope)
		}
	}
}

// WithoutNames omits the names of locks: the attribute lock.name, and the texts of errors, which contain the name and
// are replaced by the kind of the error. Names often contain what a lock protects, such as the number of a customer,
// and some must not leave the program.
func WithoutNames() Option { return func(o *Observer) { o.names = false } }

// New returns an observer.
func New(opts ...Option) *Observer {
	o := &Observer{names: true, holds: map[lease]*hold{}}
	for _, option := range opts {
		option(o)
	}
	if o.tracer == nil {
		o.tracer = otel.Tracer(scope)
	}
	return o
}

// ObserveGrant implements [leasehold.GrantObserver].
func (o *Observer) ObserveGrant(g leasehold.Granted) {
	now := time.Now()
	attributes := append(o.attributes(g.About), Token.Int64(int64(g.Token)))
	acquired := append(attributes[:len(attributes):len(attributes)],
		Waited.Float64(g.Waited.Seconds()), HandedOver.Bool(g.HandedOver))
	_, acquire := o.tracer.Start(g.Context, "lock.acquire",
		trace.WithTimestamp(now.Add(-g.Waited)), trace.WithAttributes(acquired...))
	acquire.End(trace.WithTimestamp(now))
	_, span := o.tracer.Start(g.Context, "lock.hold", trace.WithTimestamp(now), trace.WithAttributes(attributes...),
		trace.WithLinks(trace.Link{SpanContext: acquire.SpanContext()}))
	o.begin(leaseOf(g.About, g.Token), span)
}

// ObserveFail implements [leasehold.FailObserver].
func (o *Observer) ObserveFail(f leasehold.Failed) {
	now := time.Now()
	why := reason.Of(f.Err)
	attributes := append(o.attributes(f.About), Waited.Float64(f.Waited.Seconds()), Reason.String(why.String()))
	_, span := o.tracer.Start(f.Context, "lock.acquire",
		trace.WithTimestamp(now.Add(-f.Waited)), trace.WithAttributes(attributes...))
	if why != reason.Held { // which is an answer, not a failure
		span.SetStatus(codes.Error, o.text(f.Err))
	}
	span.End(trace.WithTimestamp(now))
}

// ObserveRenew implements [leasehold.RenewObserver].
func (o *Observer) ObserveRenew(r leasehold.Renewed) {
	o.withHold(leaseOf(r.About, r.Token), func(h *hold) { h.noteRenewed(r) })
}

// ObserveDanger implements [leasehold.DangerObserver].
func (o *Observer) ObserveDanger(d leasehold.InDanger) {
	o.withHold(leaseOf(d.About, d.Token), func(h *hold) {
		h.span.AddEvent("in danger", trace.WithAttributes(Left.Float64(d.Left.Seconds())))
	})
}

// ObserveLost implements [leasehold.LostObserver].
func (o *Observer) ObserveLost(l leasehold.Lost) {
	o.end(leaseOf(l.About, l.Token), func(h *hold) {
		how := Loss.String(l.How.String())
		h.span.AddEvent("lost", trace.WithAttributes(how))
		h.end(codes.Error, l.Reason, Outcome.String(reason.Lost.String()), how)
	})
}

// ObserveRelease implements [leasehold.ReleaseObserver].
func (o *Observer) ObserveRelease(r leasehold.Released) {
	o.end(leaseOf(r.About, r.Token), func(h *hold) {
		status, text := codes.Unset, ""
		if r.Err != nil {
			status, text = codes.Error, o.text(r.Err)
		}
		h.end(status, text, Outcome.String(reason.OutcomeOf(r.Err).String()))
	})
}

// text is the text of an error in the status of a span. Without names it is only the kind of the error.
func (o *Observer) text(err error) string {
	if o.names {
		return err.Error()
	}
	if e, ok := errors.AsType[*leasehold.Error](err); ok {
		return e.Err.Error()
	}
	return reason.Of(err).String()
}

func leaseOf(a leasehold.About, token uint64) lease { return lease{a.Kind, a.Name, token} }

func (o *Observer) attributes(a leasehold.About) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, 7)
	if o.names {
		all = append(all, Name.String(a.Name))
	}
	resource := a.Label
	if resource == "" {
		resource = "default"
	}
	return append(all, Kind.String(a.Kind.String()), Shared.Bool(a.Shared), Resource.String(resource))
}
