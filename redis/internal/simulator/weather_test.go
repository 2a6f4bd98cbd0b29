package simulator

import (
	"math/rand/v2"
	"time"
)

// sky is how a way between a client and an address behaves.
type sky int32

const (
	fair  sky = iota
	lossy     // many requests and answers are lost
	dead      // all are
	slow      // all take long, some longer than a lease
	calm      // nothing happens at all: for the end
)

// fate decides what happens to one request.
func (c *client) fate(address string, batch [][]string) fate {
	w := c.world
	slot := about(batch)
	c.mu.Lock()
	now := c.skies[address]
	undoing := c.undoing[slot]
	delete(c.undoing, slot)
	chance := w.chance("fate", c.index, int(address[len("10.0.0.")]), slot, len(batch[0]))
	c.mu.Unlock()
	if now == calm {
		return fate{}
	}
	some := func(most time.Duration) time.Duration { return time.Duration(chance.Int64N(int64(most))) }
	f := fate{before: some(w.ttl / 200), after: some(w.ttl / 200)}
	bad := 0.02
	switch now {
	case lossy:
		bad = 0.3
	case dead:
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
			f.lost = true
		case 1:
			f.before, f.mute = some(2*w.ttl), true // arrives late, is never answered
		case 2:
			f.broken = true
		case 3:
			f.mute = true
		case 4:
			f.mute = true
			if slot >= 0 {
				f.until = w.gate(slot) // arrives when somebody has just been granted something there, however late that is
				w.count(&w.counts.heldBack)
			}
		}
	}
	if *oneSeed != 0 {
		w.printf("client %d sends %.60q to %s: %+v", c.index, batch, address, f)
	}
	return f
}

// gate is closed when somebody has been granted something in a slot.
func (w *world) gate(slot int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gates[slot] == nil {
		w.gates[slot] = make(chan struct{})
	}
	return w.gates[slot]
}

// letGo lets requests arrive that are held back: those to a slot, or all.
func (w *world) letGo(slots ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for slot, gate := range w.gates {
		if len(slots) == 0 || slots[0] == slot {
			close(gate)
			delete(w.gates, slot)
		}
	}
}

// short decides whether too few replicas confirm what was changed.
func (w *world) short(s *server) bool { return w.chance("short", len(s.data)).IntN(8) == 0 }

// clouds lets bad weather come and go.
func (w *world) clouds(rng *rand.Rand) {
	for range 3 {
		w.sleep(rng, 2*w.ttl)
		who, to := rng.IntN(len(w.clients)+1), sky(1+rng.IntN(3)) // the last: all of them
		at := rng.IntN(len(w.cluster.servers))
		w.printf("sky %d between client %d and %s", to, who, address(at))
		w.skies(who, at, to)
		w.sleep(rng, 2*w.ttl)
		w.skies(who, at, fair)
	}
}

func (w *world) skies(who, at int, to sky) {
	for i, c := range w.clients {
		if i == who || who == len(w.clients) {
			c.mu.Lock()
			c.skies[address(at)] = to
			c.mu.Unlock()
		}
	}
}

// everywhere makes the weather the same on all ways.
func (w *world) everywhere(to sky) {
	for at := range w.cluster.servers {
		w.skies(len(w.clients), at, to)
	}
}
