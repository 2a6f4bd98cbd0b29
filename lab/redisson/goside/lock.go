package goside

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// locker is what all locks have.
type locker interface {
	Lock(ctx context.Context, opts ...objects.LockOption) error
	TryLock(ctx context.Context, opts ...objects.LockOption) (bool, error)
	Unlock() error
	Context() context.Context
	HoldCount() int
}

// forcer is what most of them have.
type forcer interface {
	ForceUnlock(ctx context.Context) (bool, error)
}

// lock calls a lock.
type lock struct{ locker }

// call implements object. lock has the arguments [lease], and tryLock [wait [lease]].
func (l lock) call(ctx context.Context, method string, args []any) (any, error) {
	times := durations(args)
	switch method {
	case "lock", "lockInterruptibly":
		var opts []objects.LockOption
		if len(times) > 0 && times[0] > 0 {
			opts = append(opts, objects.LeaseTime(times[0]))
		}
		return nil, l.Lock(ctx, opts...)
	case "tryLock":
		var opts []objects.LockOption
		if len(times) > 0 {
			opts = append(opts, objects.WaitTime(times[0]))
		}
		if len(times) > 1 && times[1] > 0 {
			opts = append(opts, objects.LeaseTime(times[1]))
		}
		return l.TryLock(ctx, opts...)
	case "unlock":
		return nil, l.Unlock()
	case "getHoldCount":
		return l.HoldCount(), nil
	case "isHeldByCurrentThread":
		return l.HoldCount() > 0, nil
	case "lost":
		held := l.Context()
		select {
		case <-held.Done():
			return context.Cause(held).Error(), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "forceUnlock":
		if f, ok := l.locker.(forcer); ok {
			return f.ForceUnlock(ctx)
		}
	}
	return nil, errMethod(method, args)
}

// durations returns the numbers among arguments, which are milliseconds.
func durations(args []any) (all []time.Duration) {
	for _, a := range args {
		if ms, ok := a.(int64); ok {
			all = append(all, time.Duration(ms)*time.Millisecond)
		}
	}
	return all
}
