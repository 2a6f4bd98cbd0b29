// Package votecount counts how the nodes of a quorum vote when several owners want one lock: how
// many takes get a majority, and how many split the votes. It observes what the nodes store, and
// not how a library asks: the lock is a key, its value begins with its owner, and a vote is the
// time for which a node has that key for one owner.
package votecount

import (
	"cmp"
	"slices"
)

// Count is the outcome of takes. A take lasts from an owner's first vote until it has no votes any
// more. An owner without any vote is not counted.
type Count struct {
	// Won is how many takes had a majority.
	Won int
	// Split is how many takes had votes, but never a majority.
	Split int
}

// SplitShare is the share of split takes in percent. It is NaN if there were no takes.
func (c Count) SplitShare() float64 { return 100 * float64(c.Split) / float64(c.Won+c.Split) }

// change is a change of the key on one node.
type change struct {
	at     int64 // in microseconds, by a clock that all nodes share
	node   int
	owner  string // the new owner, or empty if the key is deleted
	ifFree bool   // set only if the key is free
}

// ownerVotes counts the votes of an owner that has votes now.
type ownerVotes struct {
	votes, maxVotes int
	isUncertain     bool // it may have had votes on nodes whose state was unknown
}

// voteCounter follows the key on all nodes.
type voteCounter struct {
	need   int
	known  []bool
	holder []string
	open   map[string]*ownerVotes
	count  Count
}

// count processes the changes of all nodes. It leaves out takes that it does not see from beginning
// to end.
func count(nodes int, changes []change) Count {
	changes = complete(nodes, changes)
	c := &voteCounter{need: nodes/2 + 1, known: make([]bool, nodes), holder: make([]string, nodes),
		open: map[string]*ownerVotes{}}
	for _, ch := range changes {
		switch known := c.known[ch.node]; {
		case ch.ifFree && (!known || c.holder[ch.node] != ""), known && ch.owner == c.holder[ch.node]:
			continue // nothing changes, as far as is known
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

// complete sorts the changes by time. It drops the changes after the moment at which one of the
// nodes last reported.
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
func (c *voteCounter) enter(owner string) {
	t := c.open[owner]
	if t == nil {
		t = &ownerVotes{isUncertain: slices.Contains(c.known, false)}
		c.open[owner] = t
	}
	t.votes++
	t.maxVotes = max(t.maxVotes, t.votes)
}

// leave takes a vote from an owner.
func (c *voteCounter) leave(owner string) {
	t := c.open[owner]
	if t.votes--; t.votes > 0 {
		return
	}
	delete(c.open, owner)
	switch {
	case t.isUncertain:
	case t.maxVotes >= c.need:
		c.count.Won++
	default:
		c.count.Split++
	}
}
