package agenda

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

type thing struct {
	at    time.Duration
	entry Entry[*thing]
}

func newThing() *thing {
	t := new(thing)
	t.entry.Value = t
	return t
}

// The agenda behaves like the plainest possible one in a long random history.
func TestAgreesWithASortedList(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var a Agenda[*thing]
	in := map[*thing]bool{}
	things := make([]*thing, 200)
	for i := range things {
		things[i] = newThing()
	}
	now := time.Duration(0)
	for range 20_000 {
		switch th := things[rng.IntN(len(things))]; rng.IntN(4) {
		case 0, 1:
			th.at = now + time.Duration(rng.IntN(50))*Tick
			a.Set(&th.entry, th.at)
			in[th] = true
		case 2:
			a.Remove(&th.entry)
			delete(in, th)
		case 3:
			now += time.Duration(rng.IntN(5)) * Tick
			var want []*thing
			for th := range in {
				if th.at <= now {
					want = append(want, th)
					delete(in, th)
				}
			}
			got := a.Due(now, nil, len(things))
			if len(got) != len(want) {
				t.Fatalf("at %v: %d entries are due, want %d", now, len(got), len(want))
			}
			for _, th := range want {
				if !slices.Contains(got, th) {
					t.Fatalf("at %v: an entry for %v is missing", now, th.at)
				}
			}
		}
		soonest, any := time.Duration(1<<62), false
		for th := range in {
			soonest, any = min(soonest, th.at), true
		}
		if next, ok := a.Next(); ok != any || ok && next != soonest {
			t.Fatalf("Next is %v %v, want %v %v", next, ok, soonest, any)
		}
	}
}

func TestAllEmptiesIt(t *testing.T) {
	t.Parallel()
	var a Agenda[*thing]
	a.Set(&newThing().entry, time.Hour)
	a.Set(&newThing().entry, time.Second)
	if got := a.All(nil); len(got) != 2 {
		t.Fatalf("All returned %d entries, want 2", len(got))
	}
	if _, ok := a.Next(); ok {
		t.Fatal("entries are left")
	}
}

func TestChurnLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	var a Agenda[*thing]
	th := newThing()
	for i := range 100_000 {
		a.Set(&th.entry, time.Duration(i%100)*Tick)
		a.Remove(&th.entry)
	}
	if len(a.buckets) > 100 || len(a.ticks) > 100 {
		t.Fatalf("%d buckets and %d ticks are left of 100 times", len(a.buckets), len(a.ticks))
	}
}

// However far away the times are, entries that were removed soon cost nothing.
func TestEmptyBucketsDoNotPileUp(t *testing.T) {
	t.Parallel()
	var a Agenda[*thing]
	stays, th := newThing(), newThing()
	a.Set(&stays.entry, Tick) // the first entry, so that no later bucket is reached
	for i := range 10_000 {
		a.Set(&th.entry, time.Hour+time.Duration(i)*Tick)
		a.Remove(&th.entry)
	}
	if len(a.buckets) > 2*fewEmptyBuckets || len(a.ticks) != len(a.buckets) {
		t.Fatalf("%d buckets and %d ticks are left for one entry", len(a.buckets), len(a.ticks))
	}
	if got := a.All(nil); len(got) != 1 || a.emptyBuckets != 0 {
		t.Fatalf("%d entries and %d empty buckets are left, want 1 and none", len(got), a.emptyBuckets)
	}
}
