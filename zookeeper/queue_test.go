package zookeeper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// seatsOf makes a queue of words such as "w", "r", "kw" and "p2/3", which have one sequence after the other.
func seatsOf(first int32, words string) []seat {
	var names []string
	for i, word := range strings.Fields(words) {
		kept := ""
		if rest, ok := strings.CutPrefix(word, keptMark); ok {
			kept, word = keptMark, rest
		}
		weight, size := 1, 1
		_, _ = fmt.Sscanf(word[1:], "%d/%d", &weight, &size)
		// The server writes ten digits, the sign among them.
		names = append(names, fmt.Sprintf("%s%s%010d", kept, stem(word[0], weight, size, idOf(fmt.Sprint(i)), newNonce()), first+int32(i)))
	}
	slices.Reverse(names) // the server tells them in any order
	seats, err := lineUp(names)
	if err != nil {
		panic(err)
	}
	return seats
}

func TestWhoHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		queue            string
		want, downgraded int
	}{
		{"", 0, 0},
		{"w", 1, 1},
		{"w w", 1, 1},
		{"w r r w r", 1, 3},
		{"r r w r", 2, 2},
		{"kw r", 1, 2},
		{"kr r w", 2, 2},
		{"p1/3 p2/3 p1/3", 2, 2},
		{"p3/3 p1/3", 1, 1},
		{"p1/3 p3/3 p1/3", 1, 1}, // nobody overtakes a big one
		{"kp2/3 p1/3 p1/3", 2, 2},
		{"p2/1", 0, 0},
	} {
		seats := seatsOf(7, c.queue)
		if got := holding(seats, false); got != c.want {
			t.Errorf("of %q %d hold, want %d", c.queue, got, c.want)
		}
		if got := holding(seats, true); got != c.downgraded {
			t.Errorf("of %q %d hold when the first one is downgraded, want %d", c.queue, got, c.downgraded)
		}
	}
}

func TestWhomOneWaitsFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		queue         string
		at            int
		ahead, second int // -1: nobody
		alone, doubt  bool
		kept          int
	}{
		{"w w", 1, 0, -1, true, false, 0},
		{"w w w", 2, 1, 0, false, false, 0},
		{"r r w", 2, 1, 0, false, false, 0},
		{"w r", 1, 0, -1, true, true, 0},
		{"w r r", 2, 0, -1, true, true, 0},
		{"r w r", 2, 1, -1, true, false, 0},
		{"w r w r", 3, 2, 0, false, false, 0},
		{"kw w", 1, 0, -1, false, false, 1},
		{"kw r", 1, 0, -1, false, false, 1},
		{"kr w", 1, 0, -1, false, false, 1},
		{"kp1/1 p1/1", 1, -1, -1, false, false, 1},
		{"p1/1 p1/1", 1, -1, -1, false, false, 0},
	} {
		seats := seatsOf(0, c.queue)
		name := func(i int) string {
			if i < 0 {
				return ""
			}
			return seats[i].name
		}
		v := judge(seats, c.at)
		if v.holds || v.ahead != name(c.ahead) || v.second != name(c.second) || v.alone != c.alone || v.doubt != c.doubt || len(v.kept) != c.kept {
			t.Errorf("number %d of %q stands like %+v", c.at, c.queue, v)
		}
	}
}

// After 2^31 places the sequence of a node runs over, and begins again with the lowest.
func TestSequenceRunsOver(t *testing.T) {
	t.Parallel()
	seats := seatsOf(math.MaxInt32-1, "w w r w w")
	var order []int32
	for _, s := range seats {
		order = append(order, s.seq)
	}
	want := []int32{math.MaxInt32 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1, math.MinInt32 + 2}
	if !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
	if v := judge(seats, 3); v.ahead != seats[2].name {
		t.Errorf("number 3 stands like %+v", v)
	}
}

func TestNodesOfOthersAreNoPlaces(t *testing.T) {
	t.Parallel()
	own := stem(exclusive, 1, 1, idOf("owner"), newNonce()) + "0000000003"
	for _, name := range []string{"", "k", "w", "lock-0000000001", "w-1-1-a-b", "w-1-1-a-b-", "w-x-1-a-b-1", "w-0-1-a-b-1", "w-1--1-a-b-1", "wr-1-1-a-b-1", "x-1-1-a-b-1",
		"w-1-1-a-b-99999999999", "kk" + own} {
		if s, ok := parseSeat(name); ok {
			t.Errorf("%q is taken for %+v", name, s)
		}
	}
	for _, name := range []string{own, keptMark + own} {
		if s, ok := parseSeat(name); !ok || s.id != idOf("owner") || s.seq != 3 || s.kept != (name != own) {
			t.Errorf("%q is taken for %+v, %v", name, s, ok)
		}
	}
}
