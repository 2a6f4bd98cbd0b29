package leasehold

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// heldBack is an engine to which some requests are under way for any time. They arrive when it would hurt: right after somebody else was granted
// the same name.
type heldBack struct {
	*memory.Engine

	mu    sync.Mutex
	next  map[sent]time.Duration // to be held back, and how long after the grant they arrive
	gates map[driver.Key]chan struct{}
	count int
}

// sent is what a held back one is known by before it comes here.
type sent struct {
	method drivertest.Method
	key    driver.Key
	owner  string
}

func newHeldBack(e *memory.Engine) *heldBack {
	return &heldBack{Engine: e, next: map[sent]time.Duration{}, gates: map[driver.Key]chan struct{}{}}
}

// holdBack makes the next such request wait until somebody is granted the name, and then for a moment.
func (h *heldBack) holdBack(r sent, after time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next[r] = after
}

// letGo lets the requests for a name arrive.
func (h *heldBack) letGo(k driver.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if gate := h.gates[k]; gate != nil {
		close(gate)
		delete(h.gates, k)
	}
}

// letAllGo lets all requests arrive.
func (h *heldBack) letAllGo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, gate := range h.gates {
		close(gate)
	}
	h.gates, h.next = map[driver.Key]chan struct{}{}, map[sent]time.Duration{}
}

// travel is the way of a request.
func (h *heldBack) travel(r sent) {
	h.mu.Lock()
	after, held := h.next[r]
	if !held {
		h.mu.Unlock()
		return
	}
	delete(h.next, r)
	h.count++
	gate := h.gates[r.key]
	if gate == nil {
		gate = make(chan struct{})
		h.gates[r.key] = gate
	}
	h.mu.Unlock()
	<-gate
	time.Sleep(after)
}

func (h *heldBack) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	h.travel(sent{drivertest.Take, r.Key, r.Owner})
	return h.Engine.Take(ctx, r)
}

func (h *heldBack) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	h.travel(sent{drivertest.TakeAll, batch[0].Key, batch[0].Owner})
	return h.Engine.TakeAll(ctx, batch)
}

// Wait joins the queue if it arrives when nobody waits for the answer any more.
func (h *heldBack) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	h.travel(sent{drivertest.Wait, r.Key, r.Owner})
	if ctx.Err() != nil {
		r.Join = true
		return h.Engine.Take(context.WithoutCancel(ctx), r)
	}
	return h.Engine.Wait(ctx, r)
}

func (h *heldBack) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	if len(batch) == 1 { // as those come that meet a fault
		h.travel(sent{drivertest.Renew, batch[0].Key, batch[0].Owner})
	}
	h.Engine.Renew(ctx, batch, report)
}

func (h *heldBack) Release(ctx context.Context, r driver.Release) error {
	h.travel(sent{drivertest.Release, r.Key, r.Owner})
	return h.Engine.Release(ctx, r)
}

func (h *heldBack) Downgrade(ctx context.Context, hold driver.Hold) error {
	h.travel(sent{drivertest.Downgrade, hold.Key, hold.Owner})
	return h.Engine.Downgrade(ctx, hold)
}
