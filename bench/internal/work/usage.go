package work

import (
	"context"
	"runtime"
	"syscall"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/place"
)

// usage is what something took.
type usage struct {
	time           time.Duration
	client, server time.Duration // on processors
	commands       float64       // of the server
}

// measure runs something, and returns what it took.
func measure(ctx context.Context, p place.Place, do func() error) (usage, error) {
	load, err := p.Load(ctx)
	if err != nil {
		return usage{}, err
	}
	client, began := processorTime(), time.Now()
	if err := do(); err != nil {
		return usage{}, err
	}
	u := usage{time: time.Since(began), client: processorTime() - client}
	after, err := p.Load(ctx)
	u.server, u.commands = after.CPU-load.CPU, after.Commands-load.Commands
	return u, err
}

// each returns the processor time of one of n, in microseconds.
func (u usage) each(n int) (client, server float64) {
	unit := float64(n) * float64(time.Microsecond)
	return float64(u.client) / unit, float64(u.server) / unit
}

// share returns how much of one processor was used, in percent.
func (u usage) share() (client, server float64) {
	return 100 * float64(u.client) / float64(u.time), 100 * float64(u.server) / float64(u.time)
}

// processorTime returns what this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it cannot fail for a process that asks about itself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory returns what is in use, after the garbage has been collected.
func memory() (heap, stacks float64) {
	runtime.GC()
	runtime.GC() // what has finalizers goes the second time
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc), float64(m.StackInuse)
}
