package simulator

import (
	"math/rand/v2"
	"time"
)

// condition is the condition of the path between a client and an address.
type condition int32

const (
	normal    condition = iota
	lossy               // many requests and answers are lost
	cutOff              // all are lost
	slow                // all take long, some longer than a lease
	faultless           // no faults at all: for the end
)

// drawDelivery decides at random what happens to one request.
func (c *client) drawDelivery(address string, batch [][]string) delivery {
	w := c.simulation
	slot := slotOfBatch(batch)
	c.mu.Lock()
	now := c.conditions[address]
	undoing := c.undoing[slot]
	delete(c.undoing, slot)
	chance := w.chance("fate", c.index, int(address[len("10.0.0.")]), slot, len(batch[0]))
	c.mu.Unlock()
	if now == faultless {
		return delivery{}
	}
	some := func(most time.Duration) time.Duration { return time.Duration(chance.Int64N(int64(most))) }
	f := delivery{before: some(w.ttl / 200), after: some(w.ttl / 200)}
	bad := 0.02
	switch now {
	case lossy:
		bad = 0.3
	case cutOff:
		bad = 1
	case slow:
		f.before, f.after = some(w.ttl), some(w.ttl)
		if chance.IntN(3) > 0 {
			f.before /= 8
			f.after /= 8
		}
	}
	what := chance.IntN(5)
	if undoing && chance.IntN(2) == 0 {
		bad, what = 1, 4
	}
	if chance.Float64() < bad {
		switch what {
		case 0:
			f.requestLost = true
		case 1:
			f.before, f.answerLost = some(2*w.ttl), true // arrives late, and is never answered
		case 2:
			f.connectionBreaks = true
		case 3:
			f.answerLost = true
		case 4:
			f.answerLost = true
			if slot >= 0 {
				f.until = w.heldBackUntilGrant(slot) // arrives after the next grant there, however late that is
				w.count(&w.counts.heldBack)
			}
		}
	}
	if *oneSeed != 0 {
		w.printf("client %d sends %.60q to %s: %+v", c.index, batch, address, f)
	}
	return f
}

// heldBackUntilGrant returns a channel that is closed after the next grant in a slot; or nil if no request is held back
// any more, which a request that was sent before the last condition changed may not have noticed.
func (w *simulation) heldBackUntilGrant(slot int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.heldBack == nil {
		return nil
	}
	if w.heldBack[slot] == nil {
		w.heldBack[slot] = make(chan struct{})
	}
	return w.heldBack[slot]
}

// releaseHeldBack lets the requests to a slot arrive that are held back.
func (w *simulation) releaseHeldBack(slot int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if gate := w.heldBack[slot]; gate != nil {
		close(gate)
		delete(w.heldBack, slot)
	}
}

// endHoldingBack lets all requests arrive that are held back, and holds back no more.
func (w *simulation) endHoldingBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, gate := range w.heldBack {
		close(gate)
	}
	w.heldBack = nil
}

// confirmTooFew decides whether too few replicas confirm a change.
func (w *simulation) confirmTooFew(s *server) bool {
	return w.chance("short", len(s.data)).IntN(8) == 0
}

// changeConditions makes the conditions of paths bad, and good again.
func (w *simulation) changeConditions(rng *rand.Rand) {
	for range 3 {
		w.sleep(rng, 2*w.ttl)
		who, to := rng.IntN(len(w.clients)+1), condition(1+rng.IntN(3)) // the last: all clients
		at := rng.IntN(len(w.cluster.servers))
		w.printf("condition %d between client %d and %s", to, who, address(at))
		w.setCondition(who, at, to)
		w.sleep(rng, 2*w.ttl)
		w.setCondition(who, at, normal)
	}
}

func (w *simulation) setCondition(who, at int, to condition) {
	for i, c := range w.clients {
		if i == who || who == len(w.clients) {
			c.mu.Lock()
			c.conditions[address(at)] = to
			c.mu.Unlock()
		}
	}
}

// setAllConditions sets the condition of all paths.
func (w *simulation) setAllConditions(to condition) {
	for at := range w.cluster.servers {
		w.setCondition(len(w.clients), at, to)
	}
}
