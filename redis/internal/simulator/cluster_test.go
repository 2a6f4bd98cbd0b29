package simulator

import (
	"fmt"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// cluster is the servers at some addresses, and who keeps which slot. All of them know that at once. One server may be alone.
type cluster struct {
	alone bool
	plant plant
	short func(*server) bool // too few replicas confirm

	mu      sync.Mutex
	lives   int
	epoch   int
	servers []*server   // by address; nil while there is none
	keeper  []int       // by slot
	moving  map[int]int // slots on their way, and to whom
}

func newCluster(n int) *cluster {
	c := &cluster{alone: n == 1, servers: make([]*server, n), keeper: make([]int, redisserver.Slots), moving: map[int]int{}}
	for slot := range c.keeper {
		c.keeper[slot] = slot * n / redisserver.Slots
	}
	return c
}

// at returns the server at an address, or nil.
func (c *cluster) at(address string) *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		if s != nil && s.address == address {
			return s
		}
	}
	return nil
}

// elsewhere is what a server answers that does not have these keys, or not all of them. The cluster and the server are locked.
func (c *cluster) elsewhere(s *server, keys []string, asking bool) (answer refusal, is bool) {
	if c.alone || len(keys) == 0 {
		return "", false
	}
	slot, here := redisserver.Slot(keys[0]), 0
	for _, key := range keys {
		if redisserver.Slot(key) != slot {
			return "CROSSSLOT Keys in request don't hash to the same slot", true
		}
		if s.look(key) != nil {
			here++
		}
	}
	to, moves := c.moving[slot]
	switch keeper := address(c.keeper[slot]); {
	case keeper == s.address && moves && here == 0:
		return refusal(fmt.Sprintf("ASK %d %s", slot, address(to))), true
	case keeper == s.address && moves && here < len(keys), asking && moves && address(to) == s.address && here < len(keys) && len(keys) > 1:
		return "TRYAGAIN Multiple keys request during rehashing of slot", true
	case keeper == s.address, asking && moves && address(to) == s.address:
		return "", false
	default:
		return refusal(fmt.Sprintf("MOVED %d %s", slot, keeper)), true
	}
}

// nodes is the answer to CLUSTER NODES. The cluster is locked.
func (c *cluster) nodes(me *server) string {
	var b strings.Builder
	for at, s := range c.servers {
		flags, epoch := "master", 0
		if s != nil {
			epoch = s.epoch
		}
		if s == me {
			flags = "myself,master"
		}
		fmt.Fprintf(&b, "%040d %s@1 %s - 0 0 %d connected", at, address(at), flags, epoch)
		c.ranges(at, func(first, last int) { fmt.Fprintf(&b, " %d-%d", first, last) })
		b.WriteByte('\n')
	}
	return b.String()
}

// ranges calls f for slots that follow each other, of the server at an address.
func (c *cluster) ranges(at int, f func(first, last int)) {
	for slot := 0; slot < len(c.keeper); slot++ {
		first := slot
		for slot < len(c.keeper) && c.keeper[slot] == at {
			slot++
		}
		if slot > first {
			f(first, slot-1)
		}
	}
}

// begin begins to move a slot.
func (c *cluster) begin(slot, to int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moving[slot] = to
}

// keys are those of a slot that are still where it was.
func (c *cluster) keys(slot int) (keys []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[c.keeper[slot]]
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.data {
		if s.look(key) != nil && redisserver.Slot(key) == slot {
			keys = append(keys, key)
		}
	}
	return keys
}

// migrate moves a key of a slot on its way. What is left of its time goes along.
func (c *cluster) migrate(slot int, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from, to := c.servers[c.keeper[slot]], c.servers[c.moving[slot]]
	v := from.look(key)
	if v == nil {
		return
	}
	if v.end != 0 {
		v.end += to.now() - from.now()
	}
	to.data[key] = v
	delete(from.data, key)
}

// give makes a server the keeper of a slot, whatever is there. What another one has of it is gone.
func (c *cluster) give(slot, to int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.moving, slot)
	if before := c.servers[c.keeper[slot]]; before != nil && c.keeper[slot] != to {
		for key := range before.data {
			if redisserver.Slot(key) == slot {
				delete(before.data, key)
			}
		}
	}
	c.epoch++
	c.keeper[slot] = to
	c.servers[to].epoch = c.epoch
}
