// Package crowd remembers for a short while which names were not to be had. They are likely to be
// held again, so that it saves requests to queue for them at once.
package crowd

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

const (
	keptFor = 2 * time.Second
	most    = 4096 // names; all are forgotten when there are more
)

// Crowd is such names. The zero value knows none. It is safe for concurrent use, and costs next to nothing while it is empty.
type Crowd struct {
	count atomic.Int32

	mu    sync.Mutex
	since map[driver.Key]time.Time
}

// Add remembers a name from now on.
func (c *Crowd) Add(k driver.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since == nil || len(c.since) >= most {
		c.since = map[driver.Key]time.Time{}
	}
	c.since[k] = time.Now()
	c.count.Store(int32(len(c.since)))
}

// Has reports whether a name has been added a short while ago.
func (c *Crowd) Has(k driver.Key) bool {
	if c.count.Load() == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	since, ok := c.since[k]
	if ok && time.Since(since) > keptFor {
		delete(c.since, k)
		c.count.Store(int32(len(c.since)))
		return false
	}
	return ok
}
