package redis

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// crowded are the names that were held when this process last asked for them, a short while ago. They are likely to be
// held again, so that it saves a request to join the queue at once.
type crowded struct {
	count atomic.Int32

	mu    sync.Mutex
	since map[driver.Key]time.Time
}

const (
	crowdedFor  = 2 * time.Second
	mostCrowded = 4096 // names; all are forgotten when there are more
)

func (c *crowded) add(k driver.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since == nil || len(c.since) >= mostCrowded {
		c.since = map[driver.Key]time.Time{}
	}
	c.since[k] = time.Now()
	c.count.Store(int32(len(c.since)))
}

func (c *crowded) has(k driver.Key) bool {
	if c.count.Load() == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	since, ok := c.since[k]
	if ok && time.Since(since) > crowdedFor {
		delete(c.since, k)
		c.count.Store(int32(len(c.since)))
		return false
	}
	return ok
}
