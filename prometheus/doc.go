// Package leaseholdprometheus counts what happens to locks for Prometheus.
//
//	metrics := leaseholdprometheus.New("order", "report") // the labels that are known beforehand
//	prometheus.MustRegister(metrics)
//	client := leasehold.New(engine, leasehold.WithObserver(metrics))
//
//	m := client.Mutex("order:1001", leasehold.Label("order")) // counted as resource="order"
//
// The names of all metrics begin with distributed_lock_. Two of them are what people alert on:
//
//   - distributed_lock_wait_seconds{resource}: how long callers waited, a histogram;
//   - distributed_lock_failures_total{resource,reason}: calls that asked for a lock and got none.
//
// The label resource is the [leasehold.Label] of the lock, never its name, since names have no bound. Folder deploy of the project has
// alert rules and a dashboard for them, and docs/metrics.md describes each metric.
//
// The name of the package differs from its folder, so that it can stand beside the package prometheus that everybody imports with it:
//
//	import leaseholdprometheus "github.com/leasehold-go/leasehold/prometheus"
package leaseholdprometheus
