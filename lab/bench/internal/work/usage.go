package work

import (
	"context"
	"runtime"
	"syscall"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// usage is the cost of an operation.
type usage struct {
	time           time.Duration
	client, server time.Duration // processor time
	commands       float64       // counted by the server
}

// measure runs do, and returns its cost.
func measure(ctx context.Context, p servers.Backend, do func() error) (usage, error) {
	return measureClient(ctx, p, processorTime, do)
}

// measureClient is measure for a client whose processor time clock tells.
func measureClient(
	ctx context.Context, p servers.Backend, clock func() time.Duration, do func() error,
) (usage, error) {
	load, err := p.Load(ctx)
	if err != nil {
		return usage{}, err
	}
	client, began := clock(), time.Now()
	if err := do(); err != nil {
		return usage{}, err
	}
	u := usage{time: time.Since(began), client: clock() - client}
	after, err := p.Load(ctx)
	u.server, u.commands = after.CPU-load.CPU, after.Commands-load.Commands
	return u, err
}

// each returns the processor time of one of n operations, in microseconds.
func (u usage) each(n int) (client, server float64) {
	unit := float64(n) * float64(time.Microsecond)
	return float64(u.client) / unit, float64(u.server) / unit
}

// share returns how much of one processor was used, in percent.
func (u usage) share() (client, server float64) {
	return 100 * float64(u.client) / float64(u.time), 100 * float64(u.server) / float64(u.time)
}

// processorTime returns the processor time that this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail for the own process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory returns the memory in use after a garbage collection.
func memory() (heap, stacks float64) {
	runtime.GC()
	runtime.GC() // the second collection frees objects with finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc), float64(m.StackInuse)
}
