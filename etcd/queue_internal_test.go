package etcd

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

func queueOf(entries ...entry) queue {
	for i := range entries {
		entries[i].created = int64(i + 1)
		entries[i].path = string(rune('a' + i))
	}
	return entries
}

func TestHolderCount(t *testing.T) {
	t.Parallel()
	w, r := entry{record: record{state: exclusive, weight: 1}}, entry{record: record{state: shared, weight: 1}}
	kw, kr := entry{
		record: record{state: keptExclusive, weight: 1},
	}, entry{
		record: record{state: keptShared, weight: 1},
	}
	permits := func(weight, size int) entry {
		return entry{record: record{state: exclusive, weight: weight, size: size}}
	}
	for _, c := range []struct {
		kind  driver.Kind
		queue queue
		want  int
	}{
		{driver.Lock, queueOf(), 0},
		{driver.Lock, queueOf(w, w), 1},
		{driver.Lock, queueOf(w, r, r), 1},
		{driver.Lock, queueOf(r, r, w, r), 2},
		{driver.Lock, queueOf(kw, r), 1},
		{driver.Lock, queueOf(kr, r, r), 3},
		{driver.Lock, queueOf(kr, w), 1},
		{driver.Semaphore, queueOf(permits(2, 5), permits(2, 5), permits(2, 5), permits(1, 5)), 2},
		{driver.Semaphore, queueOf(permits(2, 5), permits(2, 5), permits(1, 5)), 3},
		{driver.Semaphore, queueOf(permits(3, 5), permits(1, 3), permits(1, 5)), 1},
		{driver.Semaphore, queueOf(permits(1, 1)), 1},
	} {
		if got := c.queue.holderCount(c.kind); got != c.want {
			t.Errorf("%d of %+v are holders, want %d", got, c.queue, c.want)
		}
	}
}

// Holders stay holders, whatever others do: nobody is asked when an entry comes, goes or is downgraded. The permits in
// use never exceed what each holder allows.
func TestHoldersStayHolders(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		kind := []driver.Kind{driver.Lock, driver.Semaphore}[seed%2]
		var q queue
		for step := range 60 {
			before := slices.Clone(q[:q.holderCount(kind)])
			left := int64(0)
			switch in := q.holderCount(kind); {
			case len(q) > 0 && random.IntN(3) == 0: // any entry goes
				i := random.IntN(len(q))
				left = q[i].created
				q = slices.Delete(q, i, i+1)
			case in > 0 && random.IntN(4) == 0: // a holder downgrades
				q[random.IntN(in)].state = shared
			default:
				size := 1 + random.IntN(6)
				q = append(
					q,
					entry{
						created: int64(step + 1),
						record: record{
							state:  []state{exclusive, shared}[random.IntN(2)],
							size:   size,
							weight: 1 + random.IntN(size),
						},
					},
				)
			}
			in, used := q.holderCount(kind), 0
			for i, en := range q[:in] {
				used += en.weight
				if kind == driver.Semaphore && used > en.size || kind == driver.Lock && i > 0 && !en.state.isShared() {
					t.Fatalf("seed %d: %+v are holders", seed, q[:in])
				}
			}
			for _, en := range before {
				if en.created != left &&
					!slices.ContainsFunc(q[:in], func(holder entry) bool { return holder.created == en.created }) {
					t.Fatalf("seed %d: the entry of %d is no longer a holder: %+v", seed, en.created, q)
				}
			}
		}
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	for _, rec := range []record{
		// As older versions wrote it.
		{state: exclusive, ttl: 30 * time.Second, weight: 1, size: 1, mark: "mark", holder: "host:42 a program"},
		{state: keptShared, ttl: time.Millisecond, weight: 3, size: 7, mark: ownerMark("owner")},
		{
			state: shared, ttl: maxTTL, weight: 1, size: 1, mark: "-", session: 0x6a6ea202edcb1e1d, grace: maxTTL,
			holder: " \x00\xff\n  ",
		},
		{
			state: exclusive, ttl: time.Second, weight: 1, size: 1, mark: ownerMark("owner"), session: 7,
			grace: time.Millisecond,
		},
	} {
		if got := readRecord(rec.encode()); got != rec {
			t.Errorf("%+v is read as %+v", rec, got)
		}
		text := string(rec.encode())
		if all := text > sharedAbove; all != rec.state.isShared() {
			t.Errorf("%q is shared: %v", text, all)
		}
	}
	for _, strange := range []string{
		"", "2", "9 1 1 1 x y", "2 x 1 1 x y", "2 1 0 1 x y", "2 1 2 1 x y", "2 -1 1 1 x y", "22 1 1 1 x y",
		"3 1 1 1 x", "2 1 1 1  y", "2 1 1 1 @7.1 y", "2 1 1 1 x@ y", "2 1 1 1 x@7 y", "2 1 1 1 x@0.1 y",
		"2 1 1 1 x@7.0 y", "2 1 1 1 x@g.1 y", "2 1 1 1 x@-7.1 y",
	} {
		if rec := readRecord([]byte(strange)); rec.state != keptExclusive || rec.weight != 1 {
			t.Errorf("%q is read as %+v, which is somebody's", strange, rec)
		}
	}
}
