package goside

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// number returns the first argument, or 1.
func number(args []any) int {
	if len(args) > 0 {
		if n, ok := args[0].(int64); ok {
			return int(n)
		}
	}
	return 1
}

// semaphore calls a semaphore without leases.
type semaphore struct{ *objects.Semaphore }

func (s semaphore) call(ctx context.Context, method string, args []any) (any, error) {
	switch n := number(args); method {
	case "trySetPermits":
		return s.TrySetPermits(ctx, n)
	case "acquire":
		return nil, s.Acquire(ctx, n)
	case "tryAcquire":
		return s.TryAcquire(ctx, n)
	case "release":
		return nil, s.Release(ctx, n)
	case "addPermits":
		return nil, s.AddPermits(ctx, n)
	case "availablePermits":
		return s.AvailablePermits(ctx)
	}
	return nil, errMethod(method, args)
}

// permits calls a semaphore whose permits have leases.
type permits struct {
	client *client
	name   string
	leases map[string]*leasehold.Lease
}

func (p *permits) call(ctx context.Context, method string, args []any) (any, error) {
	switch method {
	case "trySetPermits": // the takes of this client set it
		p.client.sizes.Store(p.name, number(args))
		return true, nil
	case "acquire", "tryAcquire":
		return p.take(ctx, method == "acquire", durations(args))
	case "release", "tryRelease":
		id, _ := args[0].(string)
		lease := p.leases[id]
		if lease == nil {
			return nil, errors.New("goside: a permit that is not held: " + id)
		}
		delete(p.leases, id)
		err := lease.Release()
		if method == "tryRelease" && errors.Is(err, leasehold.ErrLost) {
			return false, nil
		}
		return err == nil, err
	}
	return nil, errMethod(method, args)
}

// take takes a permit, for a time if there is one, and returns its id, or nil.
func (p *permits) take(ctx context.Context, wait bool, times []time.Duration) (any, error) {
	var opts []leasehold.Option
	if len(times) > 0 {
		opts = append(opts, leasehold.TTL(times[0]), leasehold.NoRenew())
	}
	size, _ := p.client.sizes.LoadOrStore(p.name, 1)
	s := p.client.PermitExpirableSemaphore(p.name, size.(int), opts...)
	acquire := s.TryAcquire
	if wait {
		acquire = s.Acquire
	}
	lease, err := acquire(ctx, 1)
	if errors.Is(err, leasehold.ErrHeld) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if p.leases == nil {
		p.leases = map[string]*leasehold.Lease{}
	}
	id := rand.Text()
	p.leases[id] = lease
	return id, nil
}

// latch calls a latch.
type latch struct{ *objects.CountDownLatch }

func (l latch) call(ctx context.Context, method string, args []any) (any, error) {
	switch method {
	case "trySetCount":
		return l.TrySetCount(ctx, number(args))
	case "countDown":
		_, err := l.CountDown(ctx)
		return nil, err
	case "getCount":
		return l.Count(ctx)
	case "await":
		return true, l.Await(ctx)
	case "delete":
		return l.Delete(ctx)
	}
	return nil, errMethod(method, args)
}
