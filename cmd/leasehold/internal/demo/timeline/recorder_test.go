package timeline_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

func TestLostUpdatesAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		writes [][2]int // the value before, and the value written
		lost   int
	}{
		{nil, 0},
		{[][2]int{{0, 1}, {1, 2}, {2, 3}}, 0},
		{[][2]int{{0, 1}, {1, 1}}, 1},
		{[][2]int{{0, 1}, {1, 1}, {1, 2}, {2, 1}}, 3}, // the last one knew of none of them
	} {
		p := timeline.New(func() time.Duration { return 0 })
		p.AddLane("A", timeline.Client)
		p.AddLane(timeline.CounterLane, timeline.Counter)
		for _, w := range c.writes {
			p.NoteWrite("A", w[0], w[1])
		}
		r := p.Finish(time.Second)
		if r.Lost != c.lost || r.Accepted != len(c.writes) || r.Accepted-r.Value != c.lost ||
			r.Good() != (c.lost == 0) {
			t.Errorf("%v: %+v, want %d lost", c.writes, r.Result, c.lost)
		}
	}
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	var now time.Duration
	p := timeline.New(func() time.Duration { return now })
	p.AddLane("A", timeline.Client)
	p.AddLane("nothing happens", timeline.Locks)
	p.AddLane(timeline.CounterLane, timeline.Counter)
	p.End("A", timeline.Waits) // it has not begun
	p.Begin("A", timeline.Waits)
	now = time.Second
	p.End("A", timeline.Waits)
	p.Begin("A", timeline.Holds)
	p.AddInterval("A", timeline.Closed, time.Hour) // longer than the timeline
	p.NoteRead("A", 7, 1_700_000_000_000_222)
	p.NoteRead("A", 8, 0)
	now = 3 * time.Second
	p.NoteRefusal("A", "write is refused", 1_700_000_000_000_222, 1_700_000_000_000_999)
	p.NoteHang("A", "waits for ever")
	r := p.Finish(time.Minute)
	if r.End != 3*time.Second || r.TTL != time.Minute || len(r.Lanes) != 2 || r.Refused != 1 || r.Hung != 1 ||
		r.Good() {
		t.Errorf("recorded %+v", r)
	}
	want := []timeline.Interval{{timeline.Waits, 0, time.Second}, {timeline.Holds, time.Second, 3 * time.Second},
		{timeline.Closed, time.Second, 3 * time.Second}}
	if !slices.Equal(r.Lanes[0].Intervals, want) {
		t.Errorf("spans %v, want %v", r.Lanes[0].Intervals, want)
	}
	var says []string
	for _, l := range r.Lanes {
		for _, m := range l.Points {
			says = append(says, r.Label(m))
		}
	}
	if got, want := fmt.Sprintf("%q", says),
		`["token 1, reads 7" "reads 8" "write is refused" "waits for ever" "refused: token 1, seen 2"]`; got != want {
		t.Errorf("it says %s, want %s", got, want)
	}
}
