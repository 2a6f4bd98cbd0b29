package zookeeper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// entriesOf returns a queue for words such as "w", "r", "kw" and "p2/3", with consecutive sequences.
func entriesOf(first int32, words string) []queueEntry {
	var names []string
	for i, word := range strings.Fields(words) {
		kept := ""
		if rest, ok := strings.CutPrefix(word, keptMark); ok {
			kept, word = keptMark, rest
		}
		weight, size := 1, 1
		_, _ = fmt.Sscanf(word[1:], "%d/%d", &weight, &size)
		// The server writes ten digits, including the sign.
		prefix := namePrefix(word[0], weight, size, ownerID(fmt.Sprint(i)), newNonce())
		names = append(names, fmt.Sprintf("%s%s%010d", kept, prefix, first+int32(i)))
	}
	slices.Reverse(names) // the server lists them in any order
	entries, err := sortQueue(names)
	if err != nil {
		panic(err)
	}
	return entries
}

func TestHolderCount(t *testing.T) {
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
		{"p1/3 p3/3 p1/3", 1, 1}, // a large request is not overtaken
		{"kp2/3 p1/3 p1/3", 2, 2},
		{"p2/1", 0, 0},
	} {
		entries := entriesOf(7, c.queue)
		if got := holderCount(entries, false); got != c.want {
			t.Errorf("of %q %d hold, want %d", c.queue, got, c.want)
		}
		if got := holderCount(entries, true); got != c.downgraded {
			t.Errorf("of %q %d hold when the first one is downgraded, want %d", c.queue, got, c.downgraded)
		}
	}
}

func TestPositions(t *testing.T) {
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
		entries := entriesOf(0, c.queue)
		name := func(i int) string {
			if i < 0 {
				return ""
			}
			return entries[i].name
		}
		pos := positionOf(entries, c.at)
		if pos.holds || pos.blocker != name(c.ahead) || pos.secondBlocker != name(c.second) ||
			pos.soleBlocker != c.alone || pos.holdsIfDowngraded != c.doubt || len(pos.keptBefore) != c.kept {
			t.Errorf("number %d of %q stands like %+v", c.at, c.queue, pos)
		}
	}
}

// After 2^31 entries the sequence of a node overflows, and continues with the lowest.
func TestSequenceOverflows(t *testing.T) {
	t.Parallel()
	entries := entriesOf(math.MaxInt32-1, "w w r w w")
	var order []int32
	for _, entry := range entries {
		order = append(order, entry.seq)
	}
	want := []int32{math.MaxInt32 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1, math.MinInt32 + 2}
	if !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
	if pos := positionOf(entries, 3); pos.blocker != entries[2].name {
		t.Errorf("number 3 stands like %+v", pos)
	}
}

func TestForeignNodesAreNoEntries(t *testing.T) {
	t.Parallel()
	own := namePrefix(exclusive, 1, 1, ownerID("owner"), newNonce()) + "0000000003"
	for _, name := range []string{
		"", "k", "w", "lock-0000000001", "w-1-1-a-b", "w-1-1-a-b-", "w-x-1-a-b-1", "w-0-1-a-b-1", "w-1--1-a-b-1",
		"wr-1-1-a-b-1", "x-1-1-a-b-1", "w-1-1-a-b-99999999999", "kk" + own,
	} {
		if entry, ok := parseEntry(name); ok {
			t.Errorf("%q is taken for %+v", name, entry)
		}
	}
	for _, name := range []string{own, keptMark + own} {
		entry, ok := parseEntry(name)
		if !ok || entry.id != ownerID("owner") || entry.seq != 3 || entry.kept != (name != own) {
			t.Errorf("%q is taken for %+v, %v", name, entry, ok)
		}
	}
}
