package etcd

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

func lineOf(places ...place) line {
	for i := range places {
		places[i].created = int64(i + 1)
		places[i].path = string(rune('a' + i))
	}
	return places
}

func TestWhoIsInside(t *testing.T) {
	t.Parallel()
	w, r := place{card: card{state: exclusive, weight: 1}}, place{card: card{state: shared, weight: 1}}
	kw, kr := place{card: card{state: keptExclusive, weight: 1}}, place{card: card{state: keptShared, weight: 1}}
	p := func(weight, size int) place { return place{card: card{state: exclusive, weight: weight, size: size}} }
	for _, c := range []struct {
		kind driver.Kind
		line line
		want int
	}{
		{driver.Lock, lineOf(), 0},
		{driver.Lock, lineOf(w, w), 1},
		{driver.Lock, lineOf(w, r, r), 1},
		{driver.Lock, lineOf(r, r, w, r), 2},
		{driver.Lock, lineOf(kw, r), 1},
		{driver.Lock, lineOf(kr, r, r), 3},
		{driver.Lock, lineOf(kr, w), 1},
		{driver.Semaphore, lineOf(p(2, 5), p(2, 5), p(2, 5), p(1, 5)), 2},
		{driver.Semaphore, lineOf(p(2, 5), p(2, 5), p(1, 5)), 3},
		{driver.Semaphore, lineOf(p(3, 5), p(1, 3), p(1, 5)), 1},
		{driver.Semaphore, lineOf(p(1, 1)), 1},
	} {
		if got := c.line.inside(c.kind); got != c.want {
			t.Errorf("%d of %+v are inside, want %d", got, c.line, c.want)
		}
	}
}

// Whoever holds goes on holding, whatever others do: nobody is asked when one leaves, comes, or lets readers in. Permits in use are never more than
// anybody of those who hold allows for.
func TestNobodyLosesAPlace(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		kind := []driver.Kind{driver.Lock, driver.Semaphore}[seed%2]
		var l line
		for step := range 60 {
			before := slices.Clone(l[:l.inside(kind)])
			left := int64(0)
			switch in := l.inside(kind); {
			case len(l) > 0 && random.IntN(3) == 0: // anybody leaves
				i := random.IntN(len(l))
				left = l[i].created
				l = slices.Delete(l, i, i+1)
			case in > 0 && random.IntN(4) == 0: // a holder lets readers in
				l[random.IntN(in)].state = shared
			default:
				size := 1 + random.IntN(6)
				l = append(l, place{created: int64(step + 1), card: card{state: []state{exclusive, shared}[random.IntN(2)], size: size, weight: 1 + random.IntN(size)}})
			}
			in, used := l.inside(kind), 0
			for i, p := range l[:in] {
				used += p.weight
				if kind == driver.Semaphore && used > p.size || kind == driver.Lock && i > 0 && !p.state.shared() {
					t.Fatalf("seed %d: %+v are inside", seed, l[:in])
				}
			}
			for _, p := range before {
				if p.created != left && !slices.ContainsFunc(l[:in], func(q place) bool { return q.created == p.created }) {
					t.Fatalf("seed %d: the place of %d is no longer inside: %+v", seed, p.created, l)
				}
			}
		}
	}
}

func TestCards(t *testing.T) {
	t.Parallel()
	for _, c := range []card{
		{state: exclusive, ttl: 30 * time.Second, weight: 1, size: 1, mark: "mark", holder: "host:42 a program"}, // as older versions wrote it
		{state: keptShared, ttl: time.Millisecond, weight: 3, size: 7, mark: markOf("owner")},
		{state: shared, ttl: maxTTL, weight: 1, size: 1, mark: "-", session: 0x6a6ea202edcb1e1d, grace: maxTTL, holder: " \x00\xff\n  "},
		{state: exclusive, ttl: time.Second, weight: 1, size: 1, mark: markOf("owner"), session: 7, grace: time.Millisecond},
	} {
		if got := readCard(c.bytes()); got != c {
			t.Errorf("%+v is read as %+v", c, got)
		}
		text := string(c.bytes())
		if all := text > sharedAbove; all != c.state.shared() {
			t.Errorf("%q is shared: %v", text, all)
		}
	}
	for _, strange := range []string{"", "2", "9 1 1 1 x y", "2 x 1 1 x y", "2 1 0 1 x y", "2 1 2 1 x y", "2 -1 1 1 x y", "22 1 1 1 x y", "3 1 1 1 x", "2 1 1 1  y",
		"2 1 1 1 @7.1 y", "2 1 1 1 x@ y", "2 1 1 1 x@7 y", "2 1 1 1 x@0.1 y", "2 1 1 1 x@7.0 y", "2 1 1 1 x@g.1 y", "2 1 1 1 x@-7.1 y"} {
		if c := readCard([]byte(strange)); c.state != keptExclusive || c.weight != 1 {
			t.Errorf("%q is read as %+v, which is somebody's", strange, c)
		}
	}
}
