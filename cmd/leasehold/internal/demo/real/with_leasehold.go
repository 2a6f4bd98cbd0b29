package real

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// leaseholdLocker locks with leasehold.
type leaseholdLocker struct {
	*client
	engine interface {
		driver.Engine
		Close() error
	}
	leasehold  *leasehold.Client
	leaseCount int
}

// waitLimit is how long a client waits before it counts as hanging.
const waitLimit = 8 * ttl

// prepare implements locker. It waits until the servers vote.
func (l *leaseholdLocker) prepare(ctx context.Context) error {
	options := []redis.Option{redis.WithMaxTTL(ttl)}
	if !l.setup.Guarded {
		options = append(options, redis.WithoutFailoverGuard()) // the servers were started along with this program
	}
	if err := l.open(ctx, options); err != nil {
		return err
	}
	l.leasehold = leasehold.New(l.engine, leasehold.WithHolder(l.name))
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	warmUp := l.leasehold.Mutex("warm-up "+l.name+" of "+fmt.Sprintf("%p", l), leasehold.TTL(ttl))
	for {
		lease, err := warmUp.Lock(ctx)
		if err == nil {
			err = lease.Release() // a machine that is busy may not confirm it in time: then they are not ready
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(ttl / 20):
		case <-ctx.Done():
		}
	}
}

// open opens the engine.
func (l *leaseholdLocker) open(ctx context.Context, options []redis.Option) (err error) {
	if len(l.connections) == 1 {
		l.engine, err = redis.New(l.connections[0], options...)
		return err
	}
	var all []goredis.UniversalClient
	for _, c := range l.connections {
		all = append(all, c)
	}
	l.engine, err = redlock.New(ctx, all, redlock.WithNodeTimeout(nodeLimit), redlock.WithNodes(options...))
	return err
}

// Lock implements locker.
func (l *leaseholdLocker) Lock() (scenario.Lease, bool) {
	m := l.leasehold.Mutex(l.environment.name, leasehold.TTL(ttl), leasehold.WaitLimit(waitLimit))
	for end := time.Now().Add(waitLimit); time.Now().Before(end); l.Sleep(ttl / 50) {
		stops := l.stops.Load()
		got, err := m.Lock(l.ctx)
		l.waitUntilRunning()
		if err == nil && got.Context().Err() == nil {
			return l.newLease(got), true
		}
		if l.stops.Load() > stops {
			l.recorder.AddPoint(l.name, timeline.Note, "the answer is too late: not used")
		}
	}
	return nil, false
}

func (l *leaseholdLocker) newLease(got *leasehold.Lease) *lease {
	l.leaseCount++
	mine := &lease{Lease: got, lost: scenario.EventOf(l.name, fmt.Sprintf("loses lease %d", l.leaseCount))}
	context.AfterFunc(got.Context(), func() {
		if errors.Is(context.Cause(got.Context()), leasehold.ErrLost) {
			l.Signal(mine.lost)
		}
	})
	return mine
}

func (l *leaseholdLocker) close() {
	if l.leasehold != nil {
		_ = l.leasehold.Close() // a lock that is left behind ends with its ttl or its server
	}
	if l.engine != nil {
		_ = l.engine.Close()
	}
}

// lease is a lease of leasehold.
type lease struct {
	*leasehold.Lease
	lost scenario.Event
}

// IsOver implements [scenario.Lease].
func (l *lease) IsOver() bool { return l.Context().Err() != nil }

// LostEvent implements [scenario.Lease].
func (l *lease) LostEvent() scenario.Event { return l.lost }

// Release implements [scenario.Lease].
func (l *lease) Release() (remark string) {
	if errors.Is(l.Lease.Release(), leasehold.ErrLost) {
		return "the lease was over: nothing is released"
	}
	return ""
}
