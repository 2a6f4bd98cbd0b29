// Package leaseholdprometheus counts what happens to locks for Prometheus.
//
//	metrics := leaseholdprometheus.New("order", "report") // the labels that are known in advance
//	prometheus.MustRegister(metrics)
//	client := leasehold.New(engine, leasehold.WithObserver(metrics))
//
//	m := client.Mutex("order:1001", leasehold.Label("order")) // counted as resource="order"
//
// The names of all metrics begin with distributed_lock_. Two of them are useful for alerts:
//
//   - distributed_lock_wait_seconds{resource}: how long callers waited, a histogram;
//   - distributed_lock_failures_total{resource,reason}: calls that asked for a lock and got none.
//
// The label resource is the [leasehold.Label] of the lock, never its name, since the number of names is unlimited. The
// folder deploy of the project has alert rules and a dashboard, and docs/metrics.md describes each metric.
//
// The name of the package differs from that of its folder, so that it does not collide with the package prometheus,
// which programs import along with it:
//
//	import leaseholdprometheus "github.com/leasehold-go/leasehold/prometheus"
package leaseholdprometheus
