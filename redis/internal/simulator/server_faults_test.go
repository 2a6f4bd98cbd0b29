package simulator

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// disturbServers causes server faults, one after the other, mostly when they would hurt: right
// after a grant. Without the guard, no fault may make a server forget.
func (w *simulation) disturbServers(rng *rand.Rand) {
	for range 3 {
		w.sleep(rng, 2*w.ttl)
		if rng.IntN(4) > 0 {
			w.awaitGrant()
		}
		at := rng.IntN(len(w.cluster.servers))
		name := w.checkers[rng.IntN(len(w.checkers))].name
		what := rng.IntN(11)
		switch {
		case w.cluster.alone:
			what = rng.IntN(6)
		case !w.guarded:
			what = 4 + rng.IntN(4)
		}
		switch what {
		case 0:
			w.restart(rng, at, "empty", func(s *server) { s.data = map[string]*value{} })
		case 1:
			w.restart(rng, at, "with what it knew", func(*server) {})
		case 2:
			w.spare(rng, at)
		case 3:
			s := w.cluster.serverAt(address(at))
			s.mu.Lock()
			saved := s.snapshot()
			s.mu.Unlock()
			w.sleep(rng, 2*w.ttl)
			w.restart(rng, at, "with what it knew some time ago", func(s *server) { s.data = saved })
			w.count(&w.counts.restored)
		case 4:
			w.printf("%s is frozen", address(at))
			s := w.cluster.serverAt(address(at))
			s.freeze()
			w.sleep(rng, 2*w.ttl)
			s.thaw()
			w.count(&w.counts.frozen)
		case 5:
			by := time.Duration(rng.Int64N(int64(w.ttl)))
			w.printf("the clock of %s is set back by %v", address(at), by)
			w.cluster.serverAt(address(at)).setBack(by)
		case 6, 7:
			w.move(rng, name, false)
		case 8:
			w.displace(rng, name)
		default:
			w.move(rng, name, true)
		}
	}
}

// awaitGrant waits for the next grant, but not for ever.
func (w *simulation) awaitGrant() {
	w.mu.Lock()
	granted := w.granted
	w.mu.Unlock()
	enough := time.NewTimer(2 * w.ttl)
	defer enough.Stop()
	select {
	case <-granted:
	case <-enough.C:
	}
}

// setBack sets the clock back.
func (s *server) setBack(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := *s.clock
	k.off -= by
	s.clock = &k
}

// restart restarts a server after a while.
func (w *simulation) restart(rng *rand.Rand, at int, how string, change func(*server)) {
	before := w.cluster.stop(at)
	w.printf("%s ends", before.address)
	w.sleep(rng, w.ttl/10)
	change(before)
	w.printf("%s starts again, %s", before.address, how)
	w.cluster.start(at, before.clock, time.Now(), before.data)
	w.count(&w.counts.restarts)
}

// spare replaces a server by another one that has run for long and is empty.
func (w *simulation) spare(rng *rand.Rand, at int) {
	w.cluster.stop(at)
	w.sleep(rng, w.ttl/10)
	w.printf("%s is answered by a spare", address(at))
	w.cluster.start(at, w.clock(rng), time.Now().Add(-24*time.Hour), map[string]*value{})
	w.count(&w.counts.spares)
}

// displace gives the slot of a name to another master while its master is frozen. The keys of the
// slot are lost. Then the old master goes on. It has learned of the change, and redirects the requests that it has not
// seen yet.
func (w *simulation) displace(rng *rand.Rand, name string) {
	c, slot := w.cluster, slotOf(name)
	from := c.masters[slot]
	to := (from + 1 + rng.IntN(len(c.servers)-1)) % len(c.servers)
	w.printf("%s is frozen", address(from))
	frozen := c.serverAt(address(from))
	frozen.freeze()
	w.sleep(rng, w.ttl)
	c.assign(slot, to)
	w.printf("the slot of %s is given to %s", name, address(to))
	w.sleep(rng, 2*w.ttl)
	frozen.thaw()
	w.printf("%s goes on", address(from))
	w.count(&w.counts.displaced)
}

// move moves the slot of a name to another server, key by key. With dies, the old master dies when
// some keys have been moved; the new one is assigned the slot, and the old server comes back empty
// or not.
func (w *simulation) move(rng *rand.Rand, name string, dies bool) {
	c, slot := w.cluster, slotOf(name)
	from := c.masters[slot]
	to := (from + 1 + rng.IntN(len(c.servers)-1)) % len(c.servers)
	w.printf("the slot of %s begins to move from %s to %s", name, address(from), address(to))
	c.startMove(slot, to)
	keys := c.keys(slot)
	slices.Sort(keys)
	rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	some := len(keys)
	if dies {
		some = rng.IntN(len(keys) + 1)
	}
	for _, key := range keys[:some] {
		w.sleep(rng, w.ttl/50)
		c.migrate(slot, key)
		w.printf("%s is moved", key)
	}
	if dies {
		before := c.stop(from)
		w.printf("%s dies", address(from))
		w.sleep(rng, w.ttl/10)
		c.assign(slot, to)
		for key := range before.data {
			if rng.IntN(2) == 0 || redisserver.Slot(key) == slot {
				delete(before.data, key)
			}
		}
		c.start(from, before.clock, time.Now(), before.data)
		w.count(&w.counts.halfMoved)
		w.printf("the slot of %s is given to %s", name, address(to))
		return
	}
	for left := c.keys(slot); len(left) > 0; left = c.keys(slot) {
		for _, key := range left {
			c.migrate(slot, key)
		}
	}
	c.assign(slot, to)
	w.count(&w.counts.moved)
	w.printf("the slot of %s has moved", name)
}
