package leaseholdprometheus

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxResources is how many different labels are counted separately, including those given to New. All others are
// counted together as "other", so that a label that was mistakenly made of names does not fill the memory of this
// process and of Prometheus.
const MaxResources = 100

// Resources that are not labels of callers.
const (
	// DefaultResource counts locks without a label.
	DefaultResource = "default"
	// OtherResource counts all labels after the first MaxResources.
	OtherResource = "other"
)

// Metrics counts the events of one or more clients. It is an observer for [leasehold.WithObserver], and a
// [prometheus.Collector]. It is safe for concurrent use.
//
// Clients that share Metrics are counted together. To tell them apart, give each client its own, and register all of
// them through [prometheus.WrapRegistererWith] with different values of the same label. Otherwise a registry accepts
// only one: a second registration fails with a [prometheus.AlreadyRegisteredError]. Metrics that are unregistered go on
// counting, and may be registered again.
type Metrics struct {
	wait, hold, slack *prometheus.HistogramVec
	held, waiters     *prometheus.GaugeVec
	grants, failures  *prometheus.CounterVec
	renewals, danger  *prometheus.CounterVec
	lost, releases    *prometheus.CounterVec
	rejections        *prometheus.CounterVec

	mu        sync.Mutex                           // held while a resource is added
	resources atomic.Pointer[map[string]*resource] // by label; never changed, only replaced
	other     *resource
}

// New returns metrics in which nothing has been counted. The series of the given resources exist from the start,
// because Prometheus sees the first failure of a resource as an increase only if it has seen a zero before. Other
// resources get their series with their first event.
func New(resources ...string) *Metrics {
	m := &Metrics{
		wait: histograms(
			"wait_seconds",
			"How long calls waited for a lease: those that were granted one, and those that began to wait and got "+
				"none.",
			waitBuckets,
		),
		hold: histograms("hold_seconds", "How long leases were held that have been released or lost.", holdBuckets),
		slack: histograms(
			"renewal_slack_seconds", "How much of a lease was left when its renewal was answered, or was not in time.",
			holdBuckets,
		),
		held:    gauges("held", "Leases that are held."),
		waiters: gauges("waiters", "Calls that wait for a lease, for others of this process or for the engine."),
		grants: counters("grants_total",
			"Leases that were granted, by who gave them: the engine, or the holder before in this process.", "source"),
		failures: counters("failures_total", "Calls that asked for a lease and got none, by reason.", "reason"),
		renewals: counters("renewals_total", "Attempts to renew a lease, by outcome.", "outcome"),
		danger:   counters("in_danger_total", "Leases that could not be renewed until only a third of them was left."),
		lost:     counters("lost_total", "Leases that ended without having been released, by cause.", "cause"),
		releases: counters("releases_total", "Leases that were released, by outcome.", "outcome"),
		rejections: counters("fencing_rejections_total",
			"Writes that a resource refused because a newer holder had been there."),
	}
	m.resources.Store(&map[string]*resource{})
	for _, name := range resources {
		m.resourceOf(name)
	}
	return m
}

// resourceOf returns the counters of a resource. It allocates nothing for a label that was seen before.
func (m *Metrics) resourceOf(label string) *resource {
	if r := (*m.resources.Load())[label]; r != nil {
		return r
	}
	return m.addResource(label)
}

// addResource makes the counters of a resource, or returns the shared ones if there are too many resources.
func (m *Metrics) addResource(label string) *resource {
	name := strings.ToValidUTF8(label, "�")
	if name == "" {
		name = DefaultResource
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := *m.resources.Load()
	switch {
	case before[label] != nil:
		return before[label]
	case len(before) >= MaxResources || name == OtherResource:
		if m.other == nil {
			m.other = m.newResource(OtherResource)
		}
		return m.other
	}
	after := make(map[string]*resource, len(before)+1)
	for l, r := range before {
		after[l] = r
	}
	after[label] = m.newResource(name)
	m.resources.Store(&after)
	return after[label]
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(to)
	}
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{
		m.wait,
		m.hold,
		m.slack,
		m.held,
		m.waiters,
		m.grants,
		m.failures,
		m.renewals,
		m.danger,
		m.lost,
		m.releases,
		m.rejections,
	}
}
