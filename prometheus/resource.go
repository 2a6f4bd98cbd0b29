package leaseholdprometheus

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/reason"
)

// resource has the series of one resource. They are looked up once, so that an event costs no more than counting.
type resource struct {
	name string // value of the label resource

	wait, hold, slack  prometheus.Observer
	held, waiters      prometheus.Gauge
	engine, process    prometheus.Counter // grants, by source
	danger, rejections prometheus.Counter
	failures           [reason.Reasons]prometheus.Counter
	renewals, releases [reason.Outcomes]prometheus.Counter
	lost               [leasehold.LossMaxHold + 1]prometheus.Counter // by leasehold.Loss
}

func (m *Metrics) newResource(name string) *resource {
	r := &resource{
		name: name,
		wait: m.wait.WithLabelValues(name), hold: m.hold.WithLabelValues(name), slack: m.slack.WithLabelValues(name),
		held: m.held.WithLabelValues(name), waiters: m.waiters.WithLabelValues(name),
		engine: m.grants.WithLabelValues(name, "engine"), process: m.grants.WithLabelValues(name, "process"),
		danger: m.danger.WithLabelValues(name), rejections: m.rejections.WithLabelValues(name),
	}
	for i := range r.failures {
		r.failures[i] = m.failures.WithLabelValues(name, reason.Reason(i).String())
	}
	for i := range r.renewals {
		r.renewals[i] = m.renewals.WithLabelValues(name, reason.Outcome(i).String())
		r.releases[i] = m.releases.WithLabelValues(name, reason.Outcome(i).String())
	}
	for how := leasehold.LossRefused; int(how) < len(r.lost); how++ {
		r.lost[how] = m.lost.WithLabelValues(name, how.String())
	}
	return r
}

// loss returns the counter of leases that were lost in a certain way, even one that only a newer version of the library
// knows.
func (m *Metrics) loss(r *resource, how leasehold.Loss) prometheus.Counter {
	if int(how) < len(r.lost) && r.lost[how] != nil {
		return r.lost[how]
	}
	return m.lost.WithLabelValues(r.name, how.String())
}
