package drivertest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Faulty wraps an engine and treats requests and replies as a bad network does: it delays, loses
// and breaks them, before or after they take effect. It works in testing/synctest if it is created
// inside the bubble. It is safe for concurrent use.
//
// It has the abilities of the wrapped engine, except that it is never Local.
type Faulty struct {
	inner    driver.Engine
	operator driver.Operator
	plan     func(Op) Fault
	seq      atomic.Uint64

	mu       sync.Mutex
	resumed  chan struct{}
	hanging  int
	inFlight int        // requests with a fault that may still take effect
	landed   *sync.Cond // inFlight has become 0
}

var _ driver.Engine = (*Faulty)(nil)

// NewFaulty wraps inner and asks plan for the fault of each request. plan is called from many
// goroutines.
func NewFaulty(inner driver.Engine, plan func(Op) Fault) *Faulty {
	f := &Faulty{inner: inner, operator: driver.OperatorOf(inner), plan: plan, resumed: make(chan struct{})}
	f.landed = sync.NewCond(&f.mu)
	return f
}

// Resume lets all requests continue that hang now. Later ones hang again.
func (f *Faulty) Resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.resumed)
	f.resumed = make(chan struct{})
	f.hanging = 0
}

// Hanging returns how many requests hang now.
func (f *Faulty) Hanging() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hanging
}

// AwaitEffects returns when no request is in flight: none may take effect any more, whether or not its
// caller still waits for the reply.
func (f *Faulty) AwaitEffects() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.inFlight > 0 {
		f.landed.Wait()
	}
}

func (f *Faulty) addInFlight(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inFlight += n; f.inFlight == 0 {
		f.landed.Broadcast()
	}
}

func (f *Faulty) hang() {
	f.mu.Lock()
	resumed := f.resumed
	f.hanging++
	f.mu.Unlock()
	<-resumed
}

// fault asks the plan for the fault of a request that is about to be sent. A request whose ctx has
// ended gets no fault, because the wrapped engine should report the end itself.
func (f *Faulty) fault(ctx context.Context, m Method, k driver.Key, owner string) Fault {
	fault := f.plan(Op{Seq: f.seq.Add(1), Method: m, Key: k, Owner: owner})
	if ctx.Err() != nil {
		return Fault{}
	}
	return fault
}

type reply[T any] struct {
	value T
	err   error
}

// through sends a request through a fault. The ctx of effect does not end with the caller's, since
// a request that was sent arrives, whether or not anybody waits for the reply.
func through[T any](ctx context.Context, f *Faulty, fault Fault, effect func(context.Context) (T, error)) (T, error) {
	var none T
	if fault == (Fault{}) {
		return effect(ctx)
	}
	replies := make(chan reply[T], 1)
	f.addInFlight(1)
	go func() {
		if fault.Hang {
			f.hang()
		}
		time.Sleep(fault.Before)
		value, err := none, ErrFault
		if !fault.FailBefore {
			value, err = effect(context.WithoutCancel(ctx))
		}
		f.addInFlight(-1)
		time.Sleep(fault.After)
		if fault.Drop {
			<-ctx.Done()
			value, err = none, driver.Spent(ctx.Err())
		}
		if fault.Break {
			value, err = none, ErrFault
		}
		replies <- reply[T]{value, err}
	}()
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
		return none, driver.Spent(ctx.Err())
	}
}

// do is through for a request whose reply has no value.
func (f *Faulty) do(ctx context.Context, fault Fault, effect func(context.Context) error) error {
	_, err := through(ctx, f, fault, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, effect(ctx)
	})
	return err
}

// Abilities implements [driver.Engine].
func (f *Faulty) Abilities() driver.Abilities {
	can := f.inner.Abilities()
	can.Local = false
	return can
}

// Take implements [driver.Engine].
func (f *Faulty) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return through(ctx, f, f.fault(ctx, Take, r.Key, r.Owner), func(ctx context.Context) (driver.Grant, error) {
		return f.inner.Take(ctx, r)
	})
}

// Wait implements [driver.Engine]. A Wait that arrives after its ctx has ended joins the queue and
// leaves its place behind, as a late request does.
func (f *Faulty) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return f.wait(ctx, r, f.inner.Take, f.inner.Wait)
}

// wait is Wait with what it calls.
func (f *Faulty) wait(
	ctx context.Context, r driver.Request, take, wait func(context.Context, driver.Request) (driver.Grant, error),
) (driver.Grant, error) {
	fault := f.fault(ctx, Wait, r.Key, r.Owner)
	if fault.Before > 0 || fault.Hang || fault.FailBefore {
		return through(ctx, f, fault, func(detached context.Context) (driver.Grant, error) {
			if ctx.Err() != nil {
				r.Join = true
				return take(detached, r)
			}
			return wait(ctx, r)
		})
	}
	// The Wait arrives at once, and ends with its ctx by itself: only the reply meets a fault.
	g, err := wait(ctx, r)
	if err != nil {
		return g, err
	}
	return through(ctx, f, fault, func(context.Context) (driver.Grant, error) { return g, nil })
}

// Downgrade implements [driver.Engine].
func (f *Faulty) Downgrade(ctx context.Context, h driver.Hold) error {
	return f.do(ctx, f.fault(ctx, Downgrade, h.Key, h.Owner), func(ctx context.Context) error {
		return f.inner.Downgrade(ctx, h)
	})
}

// Release implements [driver.Engine].
func (f *Faulty) Release(ctx context.Context, r driver.Release) error {
	return f.do(ctx, f.fault(ctx, Release, r.Key, r.Owner), func(ctx context.Context) error {
		return f.inner.Release(ctx, r)
	})
}

// List implements [driver.Engine].
func (f *Faulty) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	return through(ctx, f, f.fault(ctx, List, driver.Key{}, ""), func(ctx context.Context) ([]driver.Status, error) {
		return f.inner.List(ctx, q)
	})
}
