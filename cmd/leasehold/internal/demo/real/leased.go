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

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// leased locks with leasehold.
type leased struct {
	*client
	engine interface {
		driver.Engine
		Close() error
	}
	leasehold *leasehold.Client
	leases    int
}

// patience is after how long a client that waits is taken for one that waits for ever.
const patience = 8 * ttl

// prepare implements locker. It waits until the servers vote.
func (l *leased) prepare(ctx context.Context) error {
	options := []redis.Option{redis.WithMaxTTL(ttl)}
	if !l.setup.Guarded {
		options = append(options, redis.WithoutFailoverGuard()) // the servers were started along with this program
	}
	if err := l.open(ctx, options); err != nil {
		return err
	}
	l.leasehold = leasehold.New(l.engine, leasehold.WithHolder(l.name))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	warmUp := l.leasehold.Mutex("warm-up "+l.name+" of "+fmt.Sprintf("%p", l), leasehold.TTL(ttl))
	for {
		lease, err := warmUp.Lock(ctx)
		if err == nil {
			return lease.Release()
		}
		if ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(ttl / 20):
		case <-ctx.Done():
		}
	}
}

// open makes the engine.
func (l *leased) open(ctx context.Context, options []redis.Option) (err error) {
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
func (l *leased) Lock() (stage.Lease, bool) {
	m := l.leasehold.Mutex(l.world.name, leasehold.TTL(ttl), leasehold.WaitLimit(patience))
	for end := time.Now().Add(patience); time.Now().Before(end); l.Sleep(ttl / 50) {
		stops := l.stops.Load()
		got, err := m.Lock(l.ctx)
		l.awake()
		if err == nil && got.Context().Err() == nil {
			return l.lease(got), true
		}
		if l.stops.Load() > stops {
			l.tape.Mark(l.name, tape.Note, "the answer is too late: not used")
		}
	}
	return nil, false
}

func (l *leased) lease(got *leasehold.Lease) *lease {
	l.leases++
	mine := &lease{Lease: got, lost: stage.At(l.name, fmt.Sprintf("loses lease %d", l.leases))}
	context.AfterFunc(got.Context(), func() {
		if errors.Is(context.Cause(got.Context()), leasehold.ErrLost) {
			l.Fire(mine.lost)
		}
	})
	return mine
}

func (l *leased) close() {
	if l.leasehold != nil {
		_ = l.leasehold.Close() // a lock that stays behind ends with its ttl, if not with its server
	}
	if l.engine != nil {
		_ = l.engine.Close()
	}
}

// lease is a lease of leasehold.
type lease struct {
	*leasehold.Lease
	lost stage.Moment
}

// Over implements [stage.Lease].
func (l *lease) Over() bool { return l.Context().Err() != nil }

// Lost implements [stage.Lease].
func (l *lease) Lost() stage.Moment { return l.lost }

// Release implements [stage.Lease].
func (l *lease) Release() (remark string) {
	if errors.Is(l.Lease.Release(), leasehold.ErrLost) {
		return "the lease was over: nothing is released"
	}
	return ""
}
