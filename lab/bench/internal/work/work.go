// Package work holds the workloads, one per file, and the runner that runs the libraries in turn.
package work

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// Workload is one task at which libraries are compared.
type Workload struct {
	// Name is short. About describes the workload. Section is the heading that it shares with
	// others.
	Name, About, Section string
	// Libraries take part in this order.
	Libraries []lib.Library
	// Full and Short are the sizes for the two kinds of run.
	Full, Short Plan
	// Main is the most important metric. Base is the library that others are compared with.
	Main, Base string
	// Open prepares the workload for one library.
	Open func(Env) (*Bench, error)
}

// Plan is the size of a workload.
type Plan struct {
	// Rounds is how many rounds each library runs, after a warm-up that is not counted.
	Rounds int `json:"rounds"`
	// Others is how many rounds libraries run that no target mentions: the first ones. Zero means
	// all.
	Others int `json:"others"`
	// Warm is the length of the warm-up. Zero means none.
	Warm time.Duration `json:"warm_ns"`
	// Round is the length of one round.
	Round time.Duration `json:"round_ns"`
	// Size is the number of goroutines, clients, leases or waiters.
	Size int `json:"size"`
	// Names is how many names each client wants at the same time, in the workloads where that is more than one.
	Names int `json:"names,omitempty"`
	// Hold is how long a name is held. Zero releases it at once, or leaves it to the workload.
	Hold time.Duration `json:"hold_ns,omitempty"`
	// TTL is how long leases last. Zero leaves it to the library.
	TTL time.Duration `json:"ttl_ns"`
}

// of returns how many rounds a library runs. judged says that a target mentions it.
func (p Plan) of(judged bool) int {
	if judged || p.Others == 0 {
		return p.Rounds
	}
	return min(p.Others, p.Rounds)
}

// Env is the environment of one library in a workload.
type Env struct {
	Backend servers.Backend
	Library lib.Library
	Plan    Plan
	// Patience is Config.Patience of the sessions.
	Patience time.Duration
	// Mark is part of the names of all locks, so that their keys can be removed.
	Mark string
	// Folder is for files; it is removed at the end.
	Folder string
	// Log reports what is worth knowing beside the figures.
	Log func(format string, args ...any)
}

// LibConfig returns the configuration of the library's sessions.
func (e Env) LibConfig() lib.Config {
	return lib.Config{Addrs: e.Backend.Addrs(), TTL: e.Plan.TTL, Patience: e.Patience}
}

// Bench is a workload that is prepared for one library.
type Bench struct {
	// Round runs for about the time d and returns what it measured. The label is unique to this
	// round.
	Round func(ctx context.Context, label string, d time.Duration) (Sample, error)
	// Close ends the sessions.
	Close func() error
}

// Metric is one figure of one round.
type Metric struct {
	Name, Unit string
	Value      float64
}

// Sample holds the figures of one round. All rounds of a workload have the same metrics, in the
// same order.
type Sample []Metric

const (
	microsecond = float64(time.Microsecond)
	millisecond = float64(time.Millisecond)
)

func perSecond(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }
