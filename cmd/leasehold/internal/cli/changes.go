//go:build unix

package cli

import (
	"slices"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// snapshot is what one poll has seen.
type snapshot struct {
	began time.Time
	names map[driver.Key]admin.Status
	// closed says why nothing is granted; nil if leases are granted.
	closed *leasehold.GrantsClosedError
}

// change is a difference between two polls. Its field names are part of the interface.
type change struct {
	At     string  `json:"at"`
	Event  event   `json:"event"`
	Kind   string  `json:"kind,omitempty"`
	Name   string  `json:"name,omitempty"`
	Holder *holder `json:"holder,omitempty"`
	From   *holder `json:"from,omitempty"`  // the previous holder
	Count  *int    `json:"count,omitempty"` // of waiters, or of a latch
	Before *int    `json:"before,omitempty"`
	Node   *node   `json:"node,omitempty"`
	Error  string  `json:"error,omitempty"`
	closure

	closed *leasehold.GrantsClosedError
}

// event says what has changed.
type event string

const (
	eventHeld        event = "held"      // seen by the first poll
	eventFree        event = "free"      // seen by the first poll of one name
	eventGranted     event = "granted"   // a new holder
	eventHandedOver  event = "handed on" // passed from one holder to the next
	eventReleased    event = "released"  // gone before the lease could expire
	eventEnded       event = "ended"     // released or expired
	eventChanged     event = "changed"   // the same holder, with another mode or number of permits
	eventWaiting     event = "waiting"   // the number of waiters
	eventLatch       event = "latch"     // the remaining count of a latch
	eventForgotten   event = "forgotten" // a latch is no longer set
	eventNode        event = "node"      // the answer of a node
	eventClosed      event = "closed"    // nothing is granted to anybody
	eventOpen        event = "open"      // leases are granted again
	eventUnavailable event = "away"      // the engine does not answer
	eventAvailable   event = "back"      // the engine answers again
)

// changes returns the differences between two polls, sorted by kind and name. Without an earlier poll it returns
// everything there is.
func changes(before *snapshot, now snapshot) []change {
	var was map[driver.Key]admin.Status
	var since time.Time
	if before != nil {
		was, since = before.names, before.began
	}
	var keys []driver.Key
	for k := range now.names {
		keys = append(keys, k)
	}
	for k := range was {
		if _, still := now.names[k]; !still {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, driver.Key.Compare)
	var all []change
	for _, k := range keys {
		about := comparison{was[k], now.names[k], before == nil, since}
		for _, c := range about.changes() {
			c.Kind, c.Name = k.Kind.String(), k.Name
			all = append(all, c)
		}
	}
	return all
}

// closedChange returns the change to closed grants, or to open ones if closed is nil.
func closedChange(closed *leasehold.GrantsClosedError) change {
	if closed == nil {
		return change{Event: eventOpen}
	}
	return change{Event: eventClosed, closure: newClosure(closed), closed: closed}
}

// comparison compares two states of one key.
type comparison struct {
	before, after admin.Status
	first         bool
	since         time.Time // when the earlier poll began
}

func (c comparison) changes() (all []change) {
	all = c.holders()
	if c.before.Waiting != c.after.Waiting {
		all = append(all, newCountChange(eventWaiting, c.after.Waiting, c.before.Waiting, c.first))
	}
	switch was, is := c.before.Latch, c.after.Latch; {
	case is != nil && was == nil:
		all = append(all, change{Event: eventLatch, Count: &is.Count})
	case is != nil && was.Count != is.Count:
		all = append(all, newCountChange(eventLatch, is.Count, was.Count, false))
	case is == nil && was != nil:
		all = append(all, change{Event: eventForgotten, Before: &was.Count})
	}
	return all
}

func newCountChange(e event, now, before int, first bool) change {
	c := change{Event: e, Count: &now, Before: &before}
	if first {
		c.Before = nil
	}
	return c
}

// holders returns who has released, who was granted, and whose hold has changed. A token identifies a hold.
func (c comparison) holders() (all []change) {
	gone, come := holdersNotIn(c.before.Holders, c.after.Holders), holdersNotIn(c.after.Holders, c.before.Holders)
	if len(c.before.Holders) == 1 && len(c.after.Holders) == 1 && len(come) == 1 && c.after.Kind == driver.Lock {
		return []change{{Event: eventHandedOver, Holder: new(newHolder(come[0])), From: new(newHolder(gone[0]))}}
	}
	for _, h := range gone {
		e := eventEnded
		// The remaining time was measured after the earlier poll began, so the lease cannot have expired before this.
		if h.TTL < 0 || time.Now().Before(c.since.Add(h.TTL)) {
			e = eventReleased
		}
		all = append(all, change{Event: e, From: new(newHolder(h))})
	}
	for _, h := range come {
		e := eventGranted
		if c.first {
			e = eventHeld
		}
		all = append(all, change{Event: e, Holder: new(newHolder(h))})
	}
	for _, is := range c.after.Holders {
		for _, was := range c.before.Holders {
			if was.Token == is.Token && (was.Mode != is.Mode || was.Weight != is.Weight) {
				all = append(all, change{Event: eventChanged, Holder: new(newHolder(is)), From: new(newHolder(was))})
			}
		}
	}
	return all
}

// holdersNotIn returns the holders whose token none of the others has.
func holdersNotIn(all, others []admin.Holder) []admin.Holder {
	return slices.DeleteFunc(slices.Clone(all), func(h admin.Holder) bool {
		return slices.ContainsFunc(others, func(o admin.Holder) bool { return o.Token == h.Token })
	})
}

// nodeChanges returns the nodes whose answer has changed.
func nodeChanges(before, now []admin.Vote) (all []change) {
	for _, v := range now {
		same := func(o admin.Vote) bool {
			return o.Node == v.Node && voteAnswer(o) == voteAnswer(v) && (o.Closed > 0) == (v.Closed > 0)
		}
		if !slices.ContainsFunc(before, same) {
			all = append(all, change{Event: eventNode, Node: new(newNode(v))})
		}
	}
	return all
}
