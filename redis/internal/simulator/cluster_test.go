package simulator

import (
	"fmt"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// cluster is the servers at some addresses, and which of them owns which slot. All of them know
// that at once. A single server is alone.
type cluster struct {
	alone         bool
	plantedFault  plantedFault
	smallSteps    bool               // scripts stop after one step, and leave the rest to others
	confirmTooFew func(*server) bool // too few replicas confirm a change

	mu      sync.Mutex
	starts  int
	epoch   int
	servers []*server   // by address; nil while no server runs
	masters []int       // by slot
	moving  map[int]int // moving slots, and their targets
}

func newCluster(n int) *cluster {
	c := &cluster{alone: n == 1, servers: make([]*server, n), masters: make([]int, redisserver.Slots),
		moving: map[int]int{}}
	for slot := range c.masters {
		c.masters[slot] = slot * n / redisserver.Slots
	}
	return c
}

// serverAt returns the server at an address, or nil.
func (c *cluster) serverAt(address string) *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		if s != nil && s.address == address {
			return s
		}
	}
	return nil
}

// redirection returns the answer of a server that does not have all of these keys. The cluster and
// the server are locked.
func (c *cluster) redirection(s *server, keys []string, asking bool) (answer refusal, is bool) {
	if c.alone || len(keys) == 0 {
		return "", false
	}
	slot, here := redisserver.Slot(keys[0]), 0
	for _, key := range keys {
		if redisserver.Slot(key) != slot {
			return "CROSSSLOT Keys in request don't hash to the same slot", true
		}
		if s.get(key) != nil {
			here++
		}
	}
	to, moves := c.moving[slot]
	switch keeper := address(c.masters[slot]); {
	case keeper == s.address && moves && here == 0:
		return refusal(fmt.Sprintf("ASK %d %s", slot, address(to))), true
	case keeper == s.address && moves && here < len(keys), asking && moves && address(to) == s.address &&
		here < len(keys) && len(keys) > 1:
		return "TRYAGAIN Multiple keys request during rehashing of slot", true
	case keeper == s.address, asking && moves && address(to) == s.address:
		return "", false
	default:
		return refusal(fmt.Sprintf("MOVED %d %s", slot, keeper)), true
	}
}

// nodes returns the answer to CLUSTER NODES. The cluster is locked.
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

// ranges calls f for each range of slots of the server at an address.
func (c *cluster) ranges(at int, f func(first, last int)) {
	for slot := 0; slot < len(c.masters); slot++ {
		first := slot
		for slot < len(c.masters) && c.masters[slot] == at {
			slot++
		}
		if slot > first {
			f(first, slot-1)
		}
	}
}

// startMove begins to move a slot.
func (c *cluster) startMove(slot, to int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moving[slot] = to
}

// keys returns the keys of a slot that are still on its master.
func (c *cluster) keys(slot int) (keys []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[c.masters[slot]]
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.data {
		if s.get(key) != nil && redisserver.Slot(key) == slot {
			keys = append(keys, key)
		}
	}
	return keys
}

// migrate moves a key of a moving slot, with what is left of its time.
func (c *cluster) migrate(slot int, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from, to := c.servers[c.masters[slot]], c.servers[c.moving[slot]]
	v := from.get(key)
	if v == nil {
		return
	}
	if v.end != 0 {
		v.end += to.now() - from.now()
	}
	to.data[key] = v
	delete(from.data, key)
}

// assign makes a server the master of a slot, whatever keys it has. The former master's keys of the
// slot are lost.
func (c *cluster) assign(slot, to int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.moving, slot)
	if before := c.servers[c.masters[slot]]; before != nil && c.masters[slot] != to {
		for key := range before.data {
			if redisserver.Slot(key) == slot {
				delete(before.data, key)
			}
		}
	}
	c.epoch++
	c.masters[slot] = to
	c.servers[to].epoch = c.epoch
}
