package leasehold

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/memory"
)

// delayingEngine is an engine that some requests reach with any delay. They arrive when it does most harm: right after
// somebody else was granted the same name.
type delayingEngine struct {
	*memory.Engine

	mu       sync.Mutex
	next     map[delayedRequest]time.Duration // the next such request is delayed, and arrives so long after the grant
	arrivals map[driver.Key]chan struct{}
	count    int
}

// delayedRequest identifies a request before it arrives.
type delayedRequest struct {
	method drivertest.Method
	key    driver.Key
	owner  string
}

func newDelayingEngine(e *memory.Engine) *delayingEngine {
	return &delayingEngine{
		Engine: e, next: map[delayedRequest]time.Duration{}, arrivals: map[driver.Key]chan struct{}{},
	}
}

// delay makes the next such request wait until somebody is granted the name, and then for after.
func (h *delayingEngine) delay(r delayedRequest, after time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next[r] = after
}

// deliver lets the delayed requests for a name arrive.
func (h *delayingEngine) deliver(k driver.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if arrival := h.arrivals[k]; arrival != nil {
		close(arrival)
		delete(h.arrivals, k)
	}
}

// deliverAll lets all delayed requests arrive.
func (h *delayingEngine) deliverAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, arrival := range h.arrivals {
		close(arrival)
	}
	h.arrivals, h.next = map[driver.Key]chan struct{}{}, map[delayedRequest]time.Duration{}
}

// waitDelivered returns when a request arrives.
func (h *delayingEngine) waitDelivered(r delayedRequest) {
	h.mu.Lock()
	after, held := h.next[r]
	if !held {
		h.mu.Unlock()
		return
	}
	delete(h.next, r)
	h.count++
	arrival := h.arrivals[r.key]
	if arrival == nil {
		arrival = make(chan struct{})
		h.arrivals[r.key] = arrival
	}
	h.mu.Unlock()
	<-arrival
	time.Sleep(after)
}

func (h *delayingEngine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return detach.Do(ctx, nil, func(ctx context.Context) (driver.Grant, error) {
		h.waitDelivered(delayedRequest{drivertest.Take, r.Key, r.Owner})
		return h.Engine.Take(context.WithoutCancel(ctx), r)
	}, nil)
}

func (h *delayingEngine) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	return detach.Do(ctx, nil, func(ctx context.Context) ([]driver.Grant, error) {
		h.waitDelivered(delayedRequest{drivertest.TakeAll, batch[0].Key, batch[0].Owner})
		return h.Engine.TakeAll(context.WithoutCancel(ctx), batch)
	}, nil)
}

// Wait joins the queue if it arrives when its caller no longer waits.
func (h *delayingEngine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return detach.Do(ctx, nil, func(ctx context.Context) (driver.Grant, error) {
		h.waitDelivered(delayedRequest{drivertest.Wait, r.Key, r.Owner})
		if ctx.Err() != nil {
			r.Join = true
			return h.Engine.Take(context.WithoutCancel(ctx), r)
		}
		return h.Engine.Wait(ctx, r)
	}, nil)
}

func (h *delayingEngine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	if len(batch) == 1 { // as in a batch with a fault
		h.waitDelivered(delayedRequest{drivertest.Renew, batch[0].Key, batch[0].Owner})
	}
	h.Engine.Renew(ctx, batch, report)
}

func (h *delayingEngine) Release(ctx context.Context, r driver.Release) error {
	return detach.Run(ctx, nil, func(ctx context.Context) error {
		h.waitDelivered(delayedRequest{drivertest.Release, r.Key, r.Owner})
		return h.Engine.Release(context.WithoutCancel(ctx), r)
	})
}

func (h *delayingEngine) Downgrade(ctx context.Context, hold driver.Hold) error {
	return detach.Run(ctx, nil, func(ctx context.Context) error {
		h.waitDelivered(delayedRequest{drivertest.Downgrade, hold.Key, hold.Owner})
		return h.Engine.Downgrade(context.WithoutCancel(ctx), hold)
	})
}

func (h *delayingEngine) SetData(ctx context.Context, s driver.DataSet) error {
	return detach.Run(ctx, nil, func(ctx context.Context) error {
		h.waitDelivered(delayedRequest{drivertest.SetData, s.Hold.Key, s.Hold.Owner})
		return h.Engine.SetData(context.WithoutCancel(ctx), s)
	})
}
