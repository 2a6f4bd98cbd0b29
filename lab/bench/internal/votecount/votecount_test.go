package votecount

import (
	"math"
	"strings"
	"testing"
)

// script says what happens on three nodes, step by step: "0+a" asks node 0 to give a the key if it
// is free, "0=a" sets it to a in any case, "0-" deletes it.
func script(steps string) (all []change) {
	for i, s := range strings.Fields(steps) {
		all = append(all, change{at: int64(i), node: int(s[0] - '0'), owner: s[2:], ifFree: s[1] == '+'})
	}
	return all
}

// After begin, all nodes are known to be free; end shows that each node still reports.
const (
	begin = "0- 1- 2- "
	end   = " 0- 1- 2-"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps string
		want  Count
	}{
		"all votes":                      {begin + "0+a 1+a 2+a 0- 1- 2-" + end, Count{Won: 1}},
		"a majority":                     {begin + "0+a 1+a 0- 1-" + end, Count{Won: 1}},
		"one vote":                       {begin + "0+a 0-" + end, Count{Split: 1}},
		"never two at the same time":     {begin + "0+a 1+b 0- 0+b 1- 1+a 0- 1-" + end, Count{Won: 1, Split: 2}},
		"nobody has a majority":          {begin + "0+a 1+b 2+c 0- 1- 2-" + end, Count{Split: 3}},
		"refused by all":                 {begin + "0+a 1+a 2+a 0+b 1+b 2+b 0- 1- 2-" + end, Count{Won: 1}},
		"it loses, and comes again":      {begin + "0+a 0- 0+a 1+a 0- 1-" + end, Count{Won: 1, Split: 1}},
		"what is noted beside the owner": {begin + "0+a 0=a 0=a 1+a 0- 1-" + end, Count{Won: 1}},
		"a node asked again": {begin + "0+a 1+a 2+b 2+a 2- 2+a 0- 1- 2-" + end,
			Count{Won: 1, Split: 1}},
		"handed over by a node":              {begin + "0+a 1+a 0=b 1- 1+b 0- 1-" + end, Count{Won: 2}},
		"votes from before":                  {"0=a 1- 2- 1+a 0- 1- " + begin + "2+b 2-" + end, Count{Split: 1}},
		"votes that are not seen to begin":   {"0+a 1- 2- 1+a 1- 0-" + end, Count{}},
		"votes that do not end":              {begin + "0+a 1+a 0- 2-", Count{}},
		"after a node is heard for the last": {begin + "1+a 1- 0- 2- 1+b 1-", Count{Split: 1}},
		"deleted twice":                      {begin + "0+a 0- 0-" + end, Count{Split: 1}},
	} {
		if got := count(3, script(c.steps)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Nodes are read one by one, so their changes do not come in order.
func TestCountGoesByTime(t *testing.T) {
	t.Parallel()
	changes := script(begin + "0+a 1+b 0- 1- 0+b 1+a 0- 1-" + end)
	var byNode []change
	for node := range 3 {
		for _, ch := range changes {
			if ch.node == node {
				byNode = append(byNode, ch)
			}
		}
	}
	if got := count(3, byNode); got != (Count{Split: 4}) {
		t.Errorf("%+v, want four that are split", got)
	}
}

func TestSplitShare(t *testing.T) {
	t.Parallel()
	if got := (Count{Won: 3, Split: 1}).SplitShare(); got != 25 {
		t.Errorf("1 of 4 is %v %%", got)
	}
	if got := (Count{}).SplitShare(); !math.IsNaN(got) {
		t.Errorf("none of none is %v %%", got)
	}
}
