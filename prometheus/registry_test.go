package leaseholdprometheus_test

import (
	"maps"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/memory"
	leaseholdprometheus "github.com/leasehold-go/leasehold/prometheus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// countedClient is a client with metrics that observe it, and a registry.
type countedClient struct {
	*prometheus.Registry
	metrics *leaseholdprometheus.Metrics
	engine  *memory.Engine
	client  *leasehold.Client
}

func newCountedClient(t *testing.T, resources ...string) *countedClient {
	t.Helper()
	c := &countedClient{Registry: prometheus.NewPedanticRegistry(), metrics: leaseholdprometheus.New(resources...),
		engine: memory.New()}
	c.MustRegister(c.metrics)
	c.client = c.newClient(t)
	return c
}

// newClient returns another client of the engine, which the metrics observe.
func (c *countedClient) newClient(t *testing.T) *leasehold.Client {
	client := leasehold.New(c.engine, leasehold.WithObserver(c.metrics))
	t.Cleanup(func() { client.Close() })
	return client
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, test func(t *testing.T, c *countedClient)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newCountedClient(t, "order")) })
}

// series returns the series of a metric with these labels, or nil.
func (c *countedClient) series(t *testing.T, name string, labels map[string]string) *dto.Metric {
	t.Helper()
	families, err := c.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "distributed_lock_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			have := map[string]string{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			if maps.Equal(have, labels) {
				return m
			}
		}
	}
	return nil
}

// value is the value of a series. Labels are given as key, value, and so on; without labels it is the resource order.
func (c *countedClient) value(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	want := map[string]string{"resource": "order"}
	for i := 0; i < len(labels); i += 2 {
		want[labels[i]] = labels[i+1]
	}
	m := c.series(t, name, want)
	switch {
	case m == nil:
		t.Errorf("there is no series %s%v", name, want)
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Histogram != nil:
		return float64(m.GetHistogram().GetSampleCount())
	}
	return 0
}

// want expects values of series of the resource order, as in "failures_total reason=held".
func (c *countedClient) want(t *testing.T, when string, want map[series]float64) {
	t.Helper()
	for s, n := range want {
		var labels []string
		if s.label != "" {
			labels = []string{s.label, s.value}
		}
		if got := c.value(t, s.name, labels...); got != n {
			t.Errorf("%s: %v is %v, want %v", when, s, got, n)
		}
	}
}

// series is a series of the resource order.
type series struct{ name, label, value string }

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
