package quorum

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"
)

// sky is how a link between a client and a place behaves.
type sky int32

const (
	fair  sky = iota
	lossy     // many requests and replies are lost
	dead      // all are
	slow      // all take long, some longer than a lease
	clear     // nothing happens at all: for the end
)

// asked is the key of a mark of contexts: the caller has asked for it.
type asked struct{}

// fate decides what happens to one request.
func (c *client) fate(ctx context.Context, place int, method, owner string) fate {
	if ctx.Value(asked{}) != nil {
		method += ", asked" // another one of the same owner may be under way in the background since the same moment
	}
	f := c.draw(place, method, owner)
	if *oneSeed != 0 {
		c.world.printf("client %d sends %s %d to place %d: %+v", c.index, method, c.number(owner), place, f)
	}
	return f
}

func (c *client) draw(place int, method, owner string) fate {
	w := c.world
	now := sky(c.skies[place].Load())
	if now == clear {
		return fate{}
	}
	chance := w.chance(method, c.number(owner), c.index, place)
	some := func(most time.Duration) time.Duration { return time.Duration(chance.Int64N(int64(most))) }
	f := fate{before: some(w.ttl / 200), after: some(w.ttl / 200)}
	bad := 0.03
	switch now {
	case lossy:
		bad = 0.4
	case dead:
		bad = 1
	case slow:
		f.before, f.after = some(w.ttl), some(w.ttl)
		if chance.IntN(3) > 0 {
			f.before /= 8
			f.after /= 8
		}
	}
	if !w.timely && strings.HasPrefix(method, "take") && chance.IntN(8) == 0 {
		f.jump = 2 * w.ttl // so that keys run out while their owners are still at work
	}
	if chance.Float64() < bad {
		switch chance.IntN(6) {
		case 0:
			f.lost = true
		case 1:
			f.before, f.mute = some(w.ttl), true // arrives late, is never answered
		case 2:
			f.broken = true
		case 3:
			f.mute = true
		case 4:
			f.again = 1 + some(w.ttl)
		case 5:
			f.until, f.mute = w.held.hold().until, true // arrives when somebody has just been granted something, however late that is
		}
	}
	return f
}

// number is that of an owner, in the order in which they come to the places of a client.
func (c *client) number(owner string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.owners[owner]
	if !ok {
		n = len(c.owners) + 1
		c.owners[owner] = n
	}
	return n
}

// storm lets bad weather come and go: over links and places.
func (w *world) storm(rng *rand.Rand) {
	some := func(most time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(most))) }
	for range 3 {
		time.Sleep(some(w.ttl))
		last := some(2 * w.ttl)
		hit := w.some(rng)
		switch what := rng.IntN(10); {
		case what < 3:
			to := sky(1 + rng.IntN(3))
			who := rng.IntN(len(w.clients) + 1) // the last: all of them
			w.printf("sky %d between client %d and places %v", to, who, hit)
			w.skies(who, hit, to)
			time.Sleep(last)
			w.skies(who, hit, fair)
		case what == 3:
			w.printf("places %v freeze", hit)
			for _, i := range hit {
				w.places[i].freeze()
			}
			time.Sleep(last)
			for _, i := range hit {
				w.places[i].thaw()
			}
		case what < 6:
			data := rng.IntN(2) == 0 || w.astray
			w.printf("places %v crash, data kept: %v", hit, data)
			for _, i := range hit {
				w.places[i].crash(some(w.ttl/4), data)
			}
			w.count(&w.counts.crashes)
			time.Sleep(last)
		case what < 8 && w.astray: // no place may lose its data
		case what == 6:
			w.printf("places %v are replaced by spares", hit)
			for _, i := range hit {
				w.places[i].replace(clockOf(rng))
			}
			w.count(&w.counts.spares)
			time.Sleep(last)
		case what == 7:
			saved := map[int]backup{}
			for _, i := range hit {
				saved[i] = w.places[i].backup()
			}
			time.Sleep(some(w.ttl))
			w.printf("places %v go back to what they knew", hit)
			for _, i := range hit {
				w.places[i].restore(saved[i], some(w.ttl/4))
			}
			w.count(&w.counts.restored)
			time.Sleep(last)
		default:
			by := -some(w.ttl)
			if !w.timely {
				by = w.ttl + some(w.ttl)
			}
			w.printf("places %v: clocks jump by %v", hit, by)
			for _, i := range hit {
				w.places[i].jump(by)
			}
			w.count(&w.counts.jumps)
			time.Sleep(last)
		}
	}
}

// some picks places: most often a minority.
func (w *world) some(rng *rand.Rand) (hit []int) {
	n := len(w.places)
	most := (n - 1) / 2
	if rng.IntN(4) == 0 {
		most = n
	}
	return rng.Perm(n)[:1+rng.IntN(max(most, 1))]
}

func (w *world) skies(who int, hit []int, to sky) {
	for i, c := range w.clients {
		if i == who || who == len(w.clients) {
			for _, p := range hit {
				c.skies[p].Store(int32(to))
			}
		}
	}
}
