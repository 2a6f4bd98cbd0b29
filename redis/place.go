package redis

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// place knows which server keeps which slot. It learns it by asking: a server that is taken for another answers
// NOSCRIPT, because the scripts carry the identity of the server for which they are made.
type place struct {
	client redis.UniversalClient
	config *config
	began  driver.Instant

	// looking says that nothing but scripts that look is run there, which asks for no right to write.
	looking bool
	evalsha string // the command for them

	// routes has the server of each slot of a Cluster, or only one. It is made when the first server has
	// been asked what it is.
	routes atomic.Pointer[[]atomic.Pointer[server]]

	// gates has for each slot of a Cluster what was last read of its marker. It is made along with the routes.
	gates atomic.Pointer[[]atomic.Pointer[gate]]

	doubts doubts

	mu      sync.Mutex
	servers map[string]*server
	met     uint32 // how many servers have been
	asking  map[topic]*question
}

// verifyEvery is how long a server is believed to be what it was without asking it again. A process that stops to
// be the master and becomes it again keeps its scripts: only asking tells. Two failovers take longer than this.
const verifyEvery = time.Second

// ListBelieved is for how long an engine that is one of several goes by what a server has said last of the list to which it belongs. See [Engine.Among].
const ListBelieved = verifyEvery

func (p *place) init(client redis.UniversalClient, c *config) {
	p.client, p.config, p.began, p.servers, p.asking = client, c, driver.Now(), map[string]*server{}, map[topic]*question{}
	p.evalsha = evalsha
}

// clustered reports whether the place is a Cluster. It is known once a server has been asked.
func (p *place) clustered() bool {
	routes := p.routes.Load()
	return routes != nil && len(*routes) > 1
}

// single reports whether it is known that there is one server for all names.
func (p *place) single() bool {
	routes := p.routes.Load()
	return routes != nil && len(*routes) == 1
}

// isCluster is clustered for those who may be the first to ask anything. The server of names is asked then.
func (p *place) isCluster(ctx context.Context, n names) (bool, error) {
	_, err := p.server(ctx, n, false)
	return p.clustered(), err
}

// slot is the slot of names in a Cluster. Elsewhere there is but one server, and it is 0.
func (p *place) slot(n names) uint16 {
	if !p.clustered() {
		return 0
	}
	return n.slot()
}

// guess returns the server that is thought to keep names, or nil. Slots beside each other are mostly on the same server; a
// wrong guess costs a NOSCRIPT.
func (p *place) guess(n names) *server {
	routes := p.routes.Load()
	if routes == nil {
		return nil
	}
	slot := int(p.slot(n))
	route := &(*routes)[slot]
	if s := route.Load(); s != nil {
		return s
	}
	for _, step := range []int{-1, 1} {
		for i := slot + step; i >= 0 && i < len(*routes); i += step {
			if s := (*routes)[i].Load(); s != nil {
				route.CompareAndSwap(nil, s)
				return s
			}
		}
	}
	return nil
}

// settled writes down which server keeps names. mu is held. A server to which no route leads any more is forgotten: it has mostly been replaced, and if it
// comes back, it is met again.
func (p *place) settled(n names, s *server) {
	routes := *p.routes.Load()
	before := routes[p.slot(n)].Swap(s)
	if before == nil || before == s || p.servers[before.identity] != before {
		return
	}
	for i := range routes {
		if routes[i].Load() == before {
			return
		}
	}
	delete(p.servers, before.identity)
}

// server returns the server that keeps names. With fresh, what is known must not be too old to grant a lease.
func (p *place) server(ctx context.Context, n names, fresh bool) (*server, error) {
	switch s := p.guess(n); {
	case s == nil:
		return p.learn(ctx, n, nil)
	case fresh && p.config.guard && (p.age()-time.Duration(s.verified.Load()) >= verifyEvery || p.unlisted(s)):
		return p.verify(ctx, n, s)
	default:
		return s, nil
	}
}

// age is how long there has been this engine, on a clock that counts sleep.
func (p *place) age() time.Duration { return driver.Now().Since(p.began) }

// pinned calls f with a connection to the server of a key that stays the same.
func (p *place) pinned(ctx context.Context, key string, f func(tx *redis.Tx) error) error {
	called := false
	err := p.client.Watch(ctx, func(tx *redis.Tx) error {
		called = true
		return f(tx)
	}, key)
	if err == nil && !called { // the client was sent from one server to the other until it had enough, which it does not say
		return errMoving
	}
	return err
}

func (p *place) known(identity string) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.servers[identity]
}

// remember makes a server known as the one that keeps names. Another question may have met it at the same time: the first one counts.
func (p *place) remember(f facts, n names, s *server) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.servers[s.identity]; known != nil {
		s = known
	}
	if s.number == 0 {
		p.met++
		s.number = p.met
	}
	p.servers[s.identity] = s
	if p.routes.Load() == nil {
		count := 1
		if f.cluster() {
			count = slots
			gates := make([]atomic.Pointer[gate], slots)
			p.gates.Store(&gates)
		}
		routes := make([]atomic.Pointer[server], count)
		p.routes.Store(&routes)
	}
	p.settled(n, s)
	return s
}
