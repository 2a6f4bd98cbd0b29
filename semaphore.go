package leasehold

import (
	"context"
	"strconv"

	"github.com/leasehold-go/leasehold/driver"
)

// Semaphore is a number of permits. Those who hold some may hold on for as long as they
// live: like any lease, permits are renewed, and come back one ttl after their holder has died.
type Semaphore struct{ lock *lock }

// Semaphore returns the semaphore with that name and so many permits, 1 to 2^31 - 1. Everybody
// should give the same size; if sizes differ, each request is judged by its own. Not every engine
// has semaphores: calls then return ErrUnsupported.
func (c *Client) Semaphore(name string, size int, opts ...Option) *Semaphore {
	return &Semaphore{newLock(c, driver.Semaphore, name, size, opts)}
}

// Acquire waits for n permits, 1 to the semaphore's size. The lease stands for all of them. Who asks
// for many is not overtaken by those who ask for few. Acquire is not re-entrant: with the
// context of a lease it asks for more permits.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, &ask{op: "acquire", weight: n})
}

// TryAcquire is Acquire without waiting.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, &ask{op: "try acquire", weight: n, try: true})
}

// Do runs fn while holding n permits; see Mutex.Do.
func (s *Semaphore) Do(ctx context.Context, n int, fn func(context.Context, *Lease) error) error {
	lease, err := s.Acquire(ctx, n)
	return do(lease, err, fn)
}

func (s *Semaphore) acquire(ctx context.Context, a *ask) (*Lease, error) {
	if s.lock.err == nil && (a.weight < 1 || a.weight > s.lock.size) {
		return nil, invalid("number of permits", a.weight, "1 to the semaphore's size of "+strconv.Itoa(s.lock.size))
	}
	return s.lock.acquire(ctx, a)
}
