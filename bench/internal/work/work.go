// Package work holds the workloads, a file each, and the runner that gives each library its turns.
package work

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/lib"
	"github.com/leasehold-go/leasehold/bench/internal/place"
)

// Workload is one thing that libraries are compared at.
type Workload struct {
	// Name is short; About says what is done. Section is where: what it says comes before the workloads that share it.
	Name, About, Section string
	// Libraries take part, in this order.
	Libraries []lib.Library
	// Full and Short are the sizes of the two kinds of run.
	Full, Short Plan
	// Main is the metric that says most; Base the library that others are set in relation to.
	Main, Base string
	// Open prepares the workload for one library.
	Open func(Env) (*Bench, error)
}

// Plan is how large a workload is.
type Plan struct {
	// Rounds is how many rounds each library runs, after one that warms up and is not counted.
	Rounds int `json:"rounds"`
	// Others is how many of them, the first ones, the libraries run that no target is about. Zero means all.
	Others int `json:"others"`
	// Warm is how long it warms up. Zero means that there is no such round.
	Warm time.Duration `json:"warm_ns"`
	// Round is how long one round measures.
	Round time.Duration `json:"round_ns"`
	// Size is how many goroutines, clients, leases or waiters there are.
	Size int `json:"size"`
	// TTL is how long leases last. Zero leaves it to the library.
	TTL time.Duration `json:"ttl_ns"`
}

// of is how many rounds a library runs.
func (p Plan) of(judged bool) int {
	if judged || p.Others == 0 {
		return p.Rounds
	}
	return min(p.Others, p.Rounds)
}

// Env is what a workload is opened with.
type Env struct {
	Place   place.Place
	Library lib.Library
	Plan    Plan
	// Mark is in the names of all locks, so that they can be swept away.
	Mark string
	// Folder is for files; it is removed at the end.
	Folder string
	// Log tells what is worth knowing beside the figures.
	Log func(format string, args ...any)
}

// At returns where a session of the library works.
func (e Env) At() lib.At { return lib.At{Addrs: e.Place.Addrs(), TTL: e.Plan.TTL} }

// Bench is a workload that has been opened for one library.
type Bench struct {
	// Round runs it for about so long and returns what it measured. The label is of
	// this round alone.
	Round func(ctx context.Context, label string, d time.Duration) (Sample, error)
	// Close ends the sessions.
	Close func() error
}

// Metric is one figure of one round.
type Metric struct {
	Name, Unit string
	Value      float64
}

// Sample holds the figures of one round. All rounds of a workload have the same, in the same order.
type Sample []Metric

const (
	microsecond = float64(time.Microsecond)
	millisecond = float64(time.Millisecond)
)

func perSecond(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }
