package leasehold

import (
	"context"
	"strconv"

	"github.com/leasehold-go/leasehold/driver"
)

// Semaphore is a number of permits. Like any lease, permits are renewed for as long as their holder lives, and become
// free one ttl after it has died.
type Semaphore struct{ lock *lock }

// Semaphore returns the semaphore with that name and that number of permits, 1 to 2^31 - 1. All callers should give the
// same size; if sizes differ, each request is granted by its own. Not every engine has semaphores: calls then return
// ErrUnsupported.
func (c *Client) Semaphore(name string, size int, opts ...Option) *Semaphore {
	return &Semaphore{newLock(c, driver.Semaphore, name, size, opts)}
}

// Acquire waits for n permits, 1 to the semaphore's size. The lease stands for all of them. A caller that asks for many
// is not overtaken by callers that ask for few. Acquire is not re-entrant: with the context of a lease it asks for more
// permits.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, &acquisition{op: "acquire", weight: n})
}

// TryAcquire is Acquire without waiting.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, &acquisition{op: "try acquire", weight: n, try: true})
}

// Do runs fn while holding n permits; see Mutex.Do.
func (s *Semaphore) Do(ctx context.Context, n int, fn func(context.Context, *Lease) error) error {
	lease, err := s.Acquire(ctx, n)
	return runUnder(lease, err, fn)
}

func (s *Semaphore) acquire(ctx context.Context, a *acquisition) (*Lease, error) {
	if s.lock.err == nil && (a.weight < 1 || a.weight > s.lock.size) {
		allowed := "1 to the semaphore's size of " + strconv.Itoa(s.lock.size)
		return nil, newValueError("number of permits", a.weight, allowed)
	}
	return s.lock.acquire(ctx, a)
}
