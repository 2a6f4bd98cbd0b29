package exporter

import (
	"strings"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/prometheus/client_golang/prometheus"
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("leasehold_"+name, help, labels, nil)
}

var (
	up = desc("up",
		"1 if the last poll of the engine succeeded, 0 if a part of it failed: what it could not find out is absent.")

	took = desc("scrape_seconds", "How long the last poll of the engine took, in seconds.")

	held = desc("locks_held", "Holders of locks, and of permits of semaphores, by the label that they gave the lock "+
		"(default: they gave none; other: there are too many different ones).", "kind", "resource")

	waiters = desc("waiters", "Callers that wait for a lock.", "kind")

	leaks = desc("leaks",
		"What was left behind on the engine and does not go away by itself: leasehold leaks shows it.", "sort")

	nodeUp = desc("node_up", "1 if the node of the engine answers, 0 if not.", "node")

	quarantine = desc("node_quarantine_seconds",
		"For how many more seconds, about, the node grants nothing because it was restarted.", "node")

	roundTrip = desc("node_round_trip_seconds",
		"How many seconds the node takes to answer a small request: the least of several.", "node")

	ahead = desc("node_clock_ahead_seconds",
		"By how many seconds the node's clock is ahead of this machine's, give or take half of the round trip.", "node")

	findings = desc("findings", "What needs attention: leasehold doctor says what it is and how to fix it.",
		"severity", "code")
)

// Describe implements prometheus.Collector.
func (w *Watcher) Describe(c chan<- *prometheus.Desc) {
	all := []*prometheus.Desc{up, took, held, waiters, leaks, nodeUp, quarantine, roundTrip, ahead, findings}
	for _, d := range all {
		c <- d
	}
}

// Collect implements prometheus.Collector. It sends no requests.
func (w *Watcher) Collect(c chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
		}
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	s := w.lastSnapshot()
	if s == nil {
		gauge(up, 0)
		return
	}
	gauge(up, boolValue(s.err == nil))
	gauge(took, s.took.Seconds())
	for of, n := range s.held {
		gauge(held, float64(n), of.kind.String(), of.resource)
	}
	for kind, n := range s.waiting {
		gauge(waiters, float64(n), kind.String())
	}
	for sort, n := range s.leaks {
		gauge(leaks, float64(n), strings.ReplaceAll(sort.String(), " ", "_"))
	}
	for of, n := range s.findings {
		gauge(findings, float64(n), of.severity.String(), of.code)
	}
	done := map[string]bool{}
	for _, p := range s.nodes {
		if !done[p.Name] { // a node that is listed twice is a finding, but two samples of one series are an error
			done[p.Name] = true
			collectNode(p, gauge)
		}
	}
}

func collectNode(p admin.Server, gauge func(d *prometheus.Desc, value float64, labels ...string)) {
	gauge(nodeUp, boolValue(p.Err == nil), p.Name)
	if p.Err != nil {
		return
	}
	gauge(quarantine, p.Closed.Seconds(), p.Name)
	if p.RoundTrip >= 0 {
		gauge(roundTrip, p.RoundTrip.Seconds(), p.Name)
	}
	if p.HasClock {
		gauge(ahead, p.Ahead.Seconds(), p.Name)
	}
}

func boolValue(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
