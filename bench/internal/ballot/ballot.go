// Package ballot tells how the nodes of a quorum vote on those who want one lock: how many takes get the votes of a majority, and of how many the
// votes are split. It looks at what the nodes keep, and not at how a library asks for it: the lock is a key, its value begins with its owner, and a vote is
// the time for which a node has that key for one owner.
package ballot

import (
	"cmp"
	"slices"
)

// Count is what has come of takes. One take is the time from an owner's first vote until it has none any more; those who have got no vote at
// all are none.
type Count struct {
	// Won is how many have had a majority.
	Won int
	// Split is how many have had votes, and no majority at any time.
	Split int
}

// SplitShare is how many of all were split, in percent. It is not a number if there were none.
func (c Count) SplitShare() float64 { return 100 * float64(c.Split) / float64(c.Won+c.Split) }

// change is what one node does to the key.
type change struct {
	at     int64 // in microseconds, by a clock that all nodes have in common
	node   int
	owner  string // whom it is set to, or empty if it is deleted
	ifFree bool   // it is set only if nobody has it
}

// take is an owner that has votes now.
type take struct {
	votes, most int
	unsure      bool // it may have had votes of nodes of which nothing was known
}

// counter follows the key on all nodes.
type counter struct {
	need   int
	known  []bool
	holder []string
	open   map[string]*take
	count  Count
}

// count goes through the changes of all nodes. What is not seen from its beginning to its end is left out.
func count(nodes int, changes []change) Count {
	changes = complete(nodes, changes)
	c := &counter{need: nodes/2 + 1, known: make([]bool, nodes), holder: make([]string, nodes), open: map[string]*take{}}
	for _, ch := range changes {
		switch known := c.known[ch.node]; {
		case ch.ifFree && (!known || c.holder[ch.node] != ""), known && ch.owner == c.holder[ch.node]:
			continue // nothing changes, as far as can be known
		case known && c.holder[ch.node] != "":
			c.leave(c.holder[ch.node])
		}
		if ch.owner != "" {
			c.enter(ch.owner)
		}
		c.known[ch.node], c.holder[ch.node] = true, ch.owner
	}
	return c.count
}

// complete sorts the changes by time. It leaves out what comes after the moment at which one of the nodes is heard for the last time.
func complete(nodes int, changes []change) []change {
	last := make([]int64, nodes)
	for _, ch := range changes {
		last[ch.node] = max(last[ch.node], ch.at)
	}
	end := slices.Min(last)
	changes = slices.DeleteFunc(slices.Clone(changes), func(ch change) bool { return ch.at > end })
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return changes
}

// enter gives an owner a vote.
func (c *counter) enter(owner string) {
	t := c.open[owner]
	if t == nil {
		t = &take{unsure: slices.Contains(c.known, false)}
		c.open[owner] = t
	}
	t.votes++
	t.most = max(t.most, t.votes)
}

// leave takes a vote from an owner.
func (c *counter) leave(owner string) {
	t := c.open[owner]
	if t.votes--; t.votes > 0 {
		return
	}
	delete(c.open, owner)
	switch {
	case t.unsure:
	case t.most >= c.need:
		c.count.Won++
	default:
		c.count.Split++
	}
}
