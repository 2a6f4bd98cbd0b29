package leasehold

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
)

// faultyNetwork is the network of one client. Usually it is a little slow and seldom loses something; at times it has
// one fault or another.
type faultyNetwork struct {
	*drivertest.Faulty
	w      *simulation
	client int
	rng    *rand.Rand

	mu        sync.Mutex
	condition condition
	released  map[string]time.Time // when the last release of an owner was sent
	owners    map[string]int       // a number for each owner, in the order in which they came to their key
	arrived   map[driver.Key]int   // how many owners have come
}

type condition int

const (
	fair   condition = iota
	lossy            // many requests and replies are lost
	dead             // all are lost
	slow             // all take long, some longer than a lease
	frozen           // the engine hangs
	clear            // nothing happens at all: for the end
)

func newFaultyNetwork(w *simulation, client int) *faultyNetwork {
	return &faultyNetwork{w: w, client: client, rng: rand.New(rand.NewPCG(w.seed, uint64(1000+client))),
		released: map[string]time.Time{}, owners: map[string]int{}, arrived: map[driver.Key]int{}}
}

// changeConditions lets faults come and go.
func (n *faultyNetwork) changeConditions() {
	for range 3 {
		time.Sleep(time.Duration(n.rng.Int64N(int64(3 * n.w.ttl))))
		n.set(condition(n.rng.IntN(int(clear))))
		time.Sleep(time.Duration(n.rng.Int64N(int64(2 * n.w.ttl))))
		n.set(fair)
	}
}

func (n *faultyNetwork) set(s condition) {
	n.w.printf("network of client %d: %s", n.client, [...]string{"fair", "lossy", "dead", "slow", "frozen", "clear"}[s])
	n.mu.Lock()
	n.condition = s
	n.mu.Unlock()
	n.Resume()
}

func (n *faultyNetwork) clear() { n.set(clear) }

func (n *faultyNetwork) fault(op drivertest.Op) drivertest.Fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	switch op.Method {
	case drivertest.Release:
		n.released[op.Owner] = now
	case drivertest.Renew:
		if at, ok := n.released[op.Owner]; ok && now.After(at) {
			n.w.errorf("client %d renews %q %v after it was released", n.client, op.Key.Name, now.Sub(at))
		}
	case drivertest.Take, drivertest.TakeAll, drivertest.Exchange, drivertest.Wait:
		if at, ok := n.released[op.Owner]; ok && now.After(at) {
			n.w.errorf("client %d asks for %q with an owner that a release named %v ago: that release may yet arrive",
				n.client, op.Key.Name, now.Sub(at))
		}
	}
	if _, ok := n.owners[op.Owner]; !ok {
		n.arrived[op.Key]++
		n.owners[op.Owner] = n.arrived[op.Key]
	}
	chance := n.w.chance("fault", n.client, op.Method, op.Key.Kind, op.Key.Name, n.owners[op.Owner])
	if n.condition == clear {
		return drivertest.Fault{}
	}
	some := func(limit time.Duration) time.Duration { return time.Duration(chance.Int64N(int64(limit))) }
	fault := drivertest.Fault{Before: some(n.w.ttl / 200), After: some(n.w.ttl / 200)}
	bad := 0.02
	switch n.condition {
	case lossy:
		bad = 0.4
	case dead:
		bad = 1
	case slow:
		fault.Before, fault.After = some(n.w.ttl), some(n.w.ttl)
		if chance.IntN(3) > 0 {
			fault.Before /= 8
			fault.After /= 8
		}
	case frozen:
		// when the engine wakes, it answers one after the other
		fault = drivertest.Fault{Hang: true, Before: fault.Before}
	}
	if chance.Float64() < bad {
		switch chance.IntN(5) {
		case 0:
			fault = drivertest.Fault{FailBefore: true}
		case 1:
			fault = drivertest.Fault{Before: some(n.w.ttl), Drop: true} // arrives late, and is never answered
		case 2:
			fault = drivertest.Fault{Before: fault.Before, Break: true}
		case 3:
			fault = drivertest.Fault{Before: fault.Before, Drop: true}
		case 4: // arrives when everything else about it may be long forgotten
			fault = drivertest.Fault{Before: 1, Drop: true}
			n.w.engine.delay(delayedRequest{op.Method, op.Key, op.Owner}, 1+some(n.w.ttl/200))
		}
	}
	return fault
}

// Take implements [driver.Engine].
func (n *faultyNetwork) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Recall = n.recall(r)
	return n.Faulty.Take(ctx, r)
}

// Exchange implements [driver.Exchanger].
func (n *faultyNetwork) Exchange(
	ctx context.Context, before driver.Release, r driver.Request,
) (driver.Grant, error, error) {
	n.mu.Lock()
	n.released[before.Owner] = time.Now()
	n.mu.Unlock()
	n.w.mu.Lock()
	n.w.counts.exchanged++
	n.w.mu.Unlock()
	r.Recall = n.recall(r)
	return n.Faulty.Exchange(ctx, before, r)
}

// Wait implements [driver.Engine].
func (n *faultyNetwork) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Recall = n.recall(r)
	return n.Faulty.Wait(ctx, r)
}

// recall returns the Recall function of a request behind this network: the message may come late or twice, or be lost,
// and then nobody answers.
func (n *faultyNetwork) recall(r driver.Request) func() bool {
	recall := r.Recall
	if recall == nil {
		return nil
	}
	return func() bool {
		n.mu.Lock()
		condition := n.condition
		chance := n.w.chance("recall", n.client, r.Key.Name, n.owners[r.Owner])
		n.mu.Unlock()
		late := func(limit time.Duration) {
			time.AfterFunc(1+time.Duration(chance.Int64N(int64(limit))), func() { recall() })
		}
		switch kind := chance.IntN(8); {
		case condition == dead, condition == frozen, condition != clear && kind == 0, condition == lossy && kind < 4:
			return false
		case condition == slow, kind == 1:
			late(n.w.ttl)
			return false
		case kind == 2:
			late(n.w.ttl)
		}
		inUse := recall()
		if !inUse {
			n.w.mu.Lock()
			n.w.counts.recalled++
			n.w.mu.Unlock()
		}
		return inUse
	}
}
