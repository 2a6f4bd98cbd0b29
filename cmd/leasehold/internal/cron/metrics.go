//go:build unix

package cron

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/crontab"
)

// Metrics counts what becomes of jobs. A nil *Metrics counts nothing.
type Metrics struct {
	registry        *prometheus.Registry
	runs            *prometheus.CounterVec
	running         *prometheus.GaugeVec
	lastRun, lastOK *prometheus.GaugeVec
	next            *prometheus.GaugeVec
	duration        *prometheus.GaugeVec
	mu              sync.Mutex
	began           map[string]time.Time
}

// NewMetrics returns metrics of jobs.
func NewMetrics(jobs []crontab.Job) *Metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "leasehold_cron_" + name, Help: help}, []string{"job"})
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "leasehold_cron_runs_total",
			Help: "What became of ticks on this machine; elsewhere: another machine has run it.",
		}, []string{"job", "result"}),
		running:  gauge("running", "Whether the command runs on this machine."),
		lastRun:  gauge("last_run_timestamp_seconds", "When the command last began on this machine."),
		lastOK:   gauge("last_success_timestamp_seconds", "When the command last ended with 0 on this machine."),
		next:     gauge("next_tick_timestamp_seconds", "The next tick of the schedule, without jitter."),
		duration: gauge("last_duration_seconds", "How long the command ran the last time on this machine."),
		began:    map[string]time.Time{},
	}
	m.registry.MustRegister(m.runs, m.running, m.lastRun, m.lastOK, m.next, m.duration)
	for _, j := range jobs { // before the first tick, too
		m.running.WithLabelValues(j.Name)
		for r := range resultTexts {
			m.runs.WithLabelValues(j.Name, string(r))
		}
	}
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

func (m *Metrics) noteNext(job string, at time.Time) {
	if m != nil && !at.IsZero() {
		m.next.WithLabelValues(job).Set(seconds(at))
	}
}

func (m *Metrics) noteBegin(job string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.began[job] = time.Now()
	m.running.WithLabelValues(job).Set(1)
	m.lastRun.WithLabelValues(job).Set(seconds(m.began[job]))
}

func (m *Metrics) noteEnd(job string, r result) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs.WithLabelValues(job, string(r)).Inc()
	if began, ran := m.began[job]; ran {
		delete(m.began, job)
		m.running.WithLabelValues(job).Set(0)
		m.duration.WithLabelValues(job).Set(time.Since(began).Seconds())
	}
	if r == ok {
		m.lastOK.WithLabelValues(job).Set(seconds(time.Now()))
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
