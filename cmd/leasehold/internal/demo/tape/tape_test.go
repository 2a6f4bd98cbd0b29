package tape_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

func TestLostUpdatesAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		writes [][2]int // what was there, and what is written
		lost   int
	}{
		{nil, 0},
		{[][2]int{{0, 1}, {1, 2}, {2, 3}}, 0},
		{[][2]int{{0, 1}, {1, 1}}, 1},
		{[][2]int{{0, 1}, {1, 1}, {1, 2}, {2, 1}}, 3}, // the last one knew of nothing
	} {
		p := tape.New(func() time.Duration { return 0 })
		p.Lane("A", tape.Client)
		p.Lane(tape.CounterLane, tape.Counter)
		for _, w := range c.writes {
			p.Wrote("A", w[0], w[1])
		}
		r := p.Stop(time.Second)
		if r.Lost != c.lost || r.Accepted != len(c.writes) || r.Accepted-r.Value != c.lost || r.Good() != (c.lost == 0) {
			t.Errorf("%v: %+v, want %d lost", c.writes, r.Verdict, c.lost)
		}
	}
}

func TestRecording(t *testing.T) {
	t.Parallel()
	var now time.Duration
	p := tape.New(func() time.Duration { return now })
	p.Lane("A", tape.Client)
	p.Lane("nothing happens", tape.Locks)
	p.Lane(tape.CounterLane, tape.Counter)
	p.End("A", tape.Waits) // has not begun
	p.Begin("A", tape.Waits)
	now = time.Second
	p.End("A", tape.Waits)
	p.Begin("A", tape.Holds)
	p.For("A", tape.Closed, time.Hour) // longer than the recording
	p.Read("A", 7, 1_700_000_000_000_222)
	p.Read("A", 8, 0)
	now = 3 * time.Second
	p.Refuse("A", "write is refused", 1_700_000_000_000_222, 1_700_000_000_000_999)
	p.Hang("A", "waits for ever")
	r := p.Stop(time.Minute)
	if r.End != 3*time.Second || r.TTL != time.Minute || len(r.Lanes) != 2 || r.Refused != 1 || r.Hung != 1 || r.Good() {
		t.Errorf("recorded %+v", r)
	}
	want := []tape.Span{{tape.Waits, 0, time.Second}, {tape.Holds, time.Second, 3 * time.Second}, {tape.Closed, time.Second, 3 * time.Second}}
	if !slices.Equal(r.Lanes[0].Spans, want) {
		t.Errorf("spans %v, want %v", r.Lanes[0].Spans, want)
	}
	var says []string
	for _, l := range r.Lanes {
		for _, m := range l.Marks {
			says = append(says, r.Says(m))
		}
	}
	if got, want := fmt.Sprintf("%q", says), `["token 1, reads 7" "reads 8" "write is refused" "waits for ever" "refused: token 1, seen 2"]`; got != want {
		t.Errorf("it says %s, want %s", got, want)
	}
}
