package leaseholdprometheus

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "distributed_lock"

// Upper bounds of the classic buckets, in seconds. Those of waits begin below a millisecond, since a free lock in this
// process takes microseconds. Both have 1 s, at which the shipped rules alert. Native histograms need none.
var (
	waitBuckets = []float64{
		.0001,
		.00025,
		.0005,
		.001,
		.0025,
		.005,
		.01,
		.025,
		.05,
		.1,
		.25,
		.5,
		1,
		2.5,
		5,
		10,
		30,
		60,
		300,
	}
	holdBuckets = []float64{.0005, .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 300, 1800, 3600}
)

// histograms are native, for servers that scrape such histograms, and classic at the same time.
func histograms(name, help string, buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help,
		Buckets:                         buckets,
		NativeHistogramBucketFactor:     1.1, // neighbouring buckets differ by 10 %
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	}, []string{"resource"})
}

func gauges(name, help string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(
		prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, []string{"resource"},
	)
}

func counters(name, help string, by ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(
		prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, append([]string{"resource"}, by...),
	)
}
