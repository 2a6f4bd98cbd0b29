package quorum

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"
)

// linkState is how the network between a client and a node behaves.
type linkState int32

const (
	normal    linkState = iota
	lossy               // many requests and replies are lost
	dead                // all are lost
	slow                // all take long, some longer than a lease
	faultless           // no faults and no delays: for the end
)

// callerAsked is the key of a context value: the caller waits for this request.
type callerAsked struct{}

// planDelivery decides what happens to one request.
func (c *client) planDelivery(ctx context.Context, node int, method, owner string) delivery {
	if ctx.Value(callerAsked{}) != nil {
		// A request of the same owner may have been sent in the background at the same moment.
		method += ", asked"
	}
	d := c.drawDelivery(node, method, owner)
	if *oneSeed != 0 {
		c.simulation.printf("client %d sends %s %d to node %d: %+v", c.index, method, c.ownerNumber(owner), node, d)
	}
	return d
}

func (c *client) drawDelivery(node int, method, owner string) delivery {
	s := c.simulation
	now := linkState(c.links[node].Load())
	if now == faultless {
		return delivery{}
	}
	chance := s.random(method, c.ownerNumber(owner), c.index, node)
	some := func(limit time.Duration) time.Duration { return time.Duration(chance.Int64N(int64(limit))) }
	d := delivery{requestDelay: some(s.ttl / 200), replyDelay: some(s.ttl / 200)}
	bad := 0.03
	switch now {
	case lossy:
		bad = 0.4
	case dead:
		bad = 1
	case slow:
		d.requestDelay, d.replyDelay = some(s.ttl), some(s.ttl)
		if chance.IntN(3) > 0 {
			d.requestDelay /= 8
			d.replyDelay /= 8
		}
	}
	if grants := strings.HasPrefix(method, "take") || strings.HasPrefix(method, "pass"); grants && !s.noClockAdvances &&
		chance.IntN(8) == 0 {
		d.clockJump = 2 * s.ttl // so that keys expire while their owners are still at work
	}
	if chance.Float64() < bad {
		switch chance.IntN(6) {
		case 0:
			d.lost = true
		case 1:
			d.requestDelay, d.replyLost = some(s.ttl), true // arrives late, and is never answered
		case 2:
			d.connectionBreaks = true
		case 3:
			d.replyLost = true
		case 4:
			d.repeatedAfter = 1 + some(s.ttl)
		case 5:
			// It arrives when somebody has just been granted something, however late that is.
			d.heldUntil, d.replyLost = s.heldRequests.hold().heldUntil, true
		}
	}
	return d
}

// ownerNumber numbers owners in the order in which the nodes of a client see them.
func (c *client) ownerNumber(owner string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.owners[owner]
	if !ok {
		n = len(c.owners) + 1
		c.owners[owner] = n
	}
	return n
}

// injectFaults lets faults of links and nodes come and go.
func (s *simulation) injectFaults(rng *rand.Rand) {
	some := func(limit time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(limit))) }
	for range 3 {
		time.Sleep(some(s.ttl))
		last := some(2 * s.ttl)
		hit := s.pickNodes(rng)
		switch what := rng.IntN(10); {
		case what < 3:
			to := linkState(1 + rng.IntN(3))
			who := rng.IntN(len(s.clients) + 1) // the last number means all of them
			s.printf("link state %d between client %d and nodes %v", to, who, hit)
			s.setLinks(who, hit, to)
			time.Sleep(last)
			s.setLinks(who, hit, normal)
		case what == 3:
			s.printf("nodes %v freeze", hit)
			for _, i := range hit {
				s.nodes[i].freeze()
			}
			time.Sleep(last)
			for _, i := range hit {
				s.nodes[i].thaw()
			}
		case what < 6:
			data := rng.IntN(2) == 0 || s.wrongClientClocks
			s.printf("nodes %v crash, data kept: %v", hit, data)
			for _, i := range hit {
				s.nodes[i].crash(some(s.ttl/4), data)
			}
			s.count(&s.counts.crashes)
			time.Sleep(last)
		case what < 8 && s.wrongClientClocks: // no node may lose its data
		case what == 6:
			s.printf("nodes %v are replaced by spares", hit)
			for _, i := range hit {
				s.nodes[i].replace(randomClock(rng))
			}
			s.count(&s.counts.spares)
			time.Sleep(last)
		case what == 7:
			saved := map[int]backup{}
			for _, i := range hit {
				saved[i] = s.nodes[i].backup()
			}
			time.Sleep(some(s.ttl))
			s.printf("nodes %v go back to what they knew", hit)
			for _, i := range hit {
				s.nodes[i].restore(saved[i], some(s.ttl/4))
			}
			s.count(&s.counts.restored)
			time.Sleep(last)
		default:
			by := -some(s.ttl)
			if !s.noClockAdvances {
				by = s.ttl + some(s.ttl)
			}
			s.printf("nodes %v: clocks jump by %v", hit, by)
			for _, i := range hit {
				s.nodes[i].jumpClock(by)
			}
			s.count(&s.counts.jumps)
			time.Sleep(last)
		}
	}
}

// pickNodes picks nodes: usually a minority.
func (s *simulation) pickNodes(rng *rand.Rand) (hit []int) {
	n := len(s.nodes)
	maxHit := (n - 1) / 2
	if rng.IntN(4) == 0 {
		maxHit = n
	}
	return rng.Perm(n)[:1+rng.IntN(max(maxHit, 1))]
}

func (s *simulation) setLinks(client int, hit []int, to linkState) {
	for i, c := range s.clients {
		if i == client || client == len(s.clients) {
			for _, p := range hit {
				c.links[p].Store(int32(to))
			}
		}
	}
}
