package simulator

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// storm lets things happen to the servers, one after the other, mostly when it would hurt: when somebody has just been granted something. Without the guard nothing may
// happen by which a server forgets.
func (w *world) storm(rng *rand.Rand) {
	for range 3 {
		w.sleep(rng, 2*w.ttl)
		if rng.IntN(4) > 0 {
			w.awaitGrant()
		}
		at := rng.IntN(len(w.cluster.servers))
		name := w.judges[rng.IntN(len(w.judges))].name
		what := rng.IntN(10)
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
			s := w.cluster.at(address(at))
			s.mu.Lock()
			saved := s.snapshot()
			s.mu.Unlock()
			w.sleep(rng, 2*w.ttl)
			w.restart(rng, at, "with what it knew some time ago", func(s *server) { s.data = saved })
			w.count(&w.counts.restored)
		case 4:
			w.printf("%s is frozen", address(at))
			s := w.cluster.at(address(at))
			s.freeze()
			w.sleep(rng, 2*w.ttl)
			s.thaw()
			w.count(&w.counts.frozen)
		case 5:
			by := time.Duration(rng.Int64N(int64(w.ttl)))
			w.printf("the clock of %s is set back by %v", address(at), by)
			w.cluster.at(address(at)).setBack(by)
		case 6, 7:
			w.move(rng, name, false)
		default:
			w.move(rng, name, true)
		}
	}
}

// awaitGrant waits until somebody is granted something, but not for ever.
func (w *world) awaitGrant() {
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

// restart starts a server anew, after a while.
func (w *world) restart(rng *rand.Rand, at int, how string, change func(*server)) {
	before := w.cluster.stop(at)
	w.printf("%s ends", before.address)
	w.sleep(rng, w.ttl/10)
	change(before)
	w.printf("%s starts again, %s", before.address, how)
	w.cluster.start(at, before.clock, time.Now(), before.data)
	w.count(&w.counts.restarts)
}

// spare lets another server answer, which has run for long and knows nothing.
func (w *world) spare(rng *rand.Rand, at int) {
	w.cluster.stop(at)
	w.sleep(rng, w.ttl/10)
	w.printf("%s is answered by a spare", address(at))
	w.cluster.start(at, w.clock(rng), time.Now().Add(-24*time.Hour), map[string]*value{})
	w.count(&w.counts.spares)
}

// move moves the slot of a name to another server, key by key. With dies, the server that had it dies when some keys have been moved; the other one is given the
// slot, and the server comes back empty or not.
func (w *world) move(rng *rand.Rand, name string, dies bool) {
	c, slot := w.cluster, slotOf(name)
	from := c.keeper[slot]
	to := (from + 1 + rng.IntN(len(c.servers)-1)) % len(c.servers)
	w.printf("the slot of %s begins to move from %s to %s", name, address(from), address(to))
	c.begin(slot, to)
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
		c.give(slot, to)
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
	c.give(slot, to)
	w.count(&w.counts.moved)
	w.printf("the slot of %s has moved", name)
}
