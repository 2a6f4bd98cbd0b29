package leaseholdotel

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold-go/leasehold"
)

// scope is the name of the instrumentation.
const scope = "github.com/leasehold-go/leasehold/otel"

// Observer makes spans of events. It is for [leasehold.WithObserver], of one client: give each client one of its own. It starts nothing and needs
// not be closed. While a lease is held it keeps one entry, which the end of the lease removes, however it ends.
type Observer struct {
	tracer trace.Tracer
	names  bool

	mu    sync.Mutex
	holds map[lease]*hold
}

// lease tells the leases of one client apart.
type lease struct {
	kind  leasehold.Kind
	name  string
	token uint64
}

// Option is a setting of an Observer.
type Option func(*Observer)

// WithTracerProvider sets where spans go. By default, and for nil, it is the global provider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(o *Observer) {
		if p != nil {
			o.tracer = p.Tracer(scope)
		}
	}
}

// WithoutNames leaves the names of locks out: the attribute lock.name, and the texts of errors, which have the name in them, and in whose place stands what
// kind of error it is. Names are often made of what a lock protects, such as the number of a customer, and some must not leave the program.
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
	asked := append(attributes[:len(attributes):len(attributes)], Waited.Float64(g.Waited.Seconds()), HandedOver.Bool(g.HandedOver))
	_, acquire := o.tracer.Start(g.Context, "lock.acquire", trace.WithTimestamp(now.Add(-g.Waited)), trace.WithAttributes(asked...))
	acquire.End(trace.WithTimestamp(now))
	_, span := o.tracer.Start(g.Context, "lock.hold", trace.WithTimestamp(now), trace.WithAttributes(attributes...),
		trace.WithLinks(trace.Link{SpanContext: acquire.SpanContext()}))
	o.begin(of(g.About, g.Token), span)
}

// ObserveFail implements [leasehold.FailObserver].
func (o *Observer) ObserveFail(f leasehold.Failed) {
	now := time.Now()
	why := reason(f.Err)
	attributes := append(o.attributes(f.About), Waited.Float64(f.Waited.Seconds()), Reason.String(why))
	_, span := o.tracer.Start(f.Context, "lock.acquire", trace.WithTimestamp(now.Add(-f.Waited)), trace.WithAttributes(attributes...))
	if why != "held" { // which is an answer, and no error
		span.SetStatus(codes.Error, o.text(f.Err))
	}
	span.End(trace.WithTimestamp(now))
}

// ObserveRenew implements [leasehold.RenewObserver].
func (o *Observer) ObserveRenew(r leasehold.Renewed) {
	o.on(of(r.About, r.Token), func(h *hold) { h.renewed(r) })
}

// ObserveDanger implements [leasehold.DangerObserver].
func (o *Observer) ObserveDanger(d leasehold.InDanger) {
	o.on(of(d.About, d.Token), func(h *hold) { h.span.AddEvent("in danger", trace.WithAttributes(Left.Float64(d.Left.Seconds()))) })
}

// ObserveLost implements [leasehold.LostObserver].
func (o *Observer) ObserveLost(l leasehold.Lost) {
	o.end(of(l.About, l.Token), func(h *hold) {
		how := Loss.String(l.How.String())
		h.span.AddEvent("lost", trace.WithAttributes(how))
		h.end(codes.Error, l.Reason, Outcome.String("lost"), how)
	})
}

// ObserveRelease implements [leasehold.ReleaseObserver].
func (o *Observer) ObserveRelease(r leasehold.Released) {
	o.end(of(r.About, r.Token), func(h *hold) {
		status, text := codes.Unset, ""
		if r.Err != nil {
			status, text = codes.Error, o.text(r.Err)
		}
		h.end(status, text, Outcome.String(outcome(r.Err)))
	})
}

func of(a leasehold.About, token uint64) lease { return lease{a.Kind, a.Name, token} }

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
