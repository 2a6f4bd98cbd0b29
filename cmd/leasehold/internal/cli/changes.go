//go:build unix

package cli

import (
	"slices"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// scene is what one look has seen.
type scene struct {
	began time.Time
	names map[driver.Key]leasehold.Status
}

// change is a difference between two looks. Its field names are an interface.
type change struct {
	At     string  `json:"at"`
	Event  event   `json:"event"`
	Kind   string  `json:"kind,omitempty"`
	Name   string  `json:"name,omitempty"`
	Holder *holder `json:"holder,omitempty"`
	From   *holder `json:"from,omitempty"`  // who held it before
	Count  *int    `json:"count,omitempty"` // of waiters, or of a latch
	Before *int    `json:"before,omitempty"`
	Node   *node   `json:"node,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// event is what a change is.
type event string

const (
	eventHeld      event = "held"      // by the first look
	eventFree      event = "free"      // by the first look at one name
	eventGranted   event = "granted"   // somebody has come to hold it
	eventHandedOn  event = "handed on" // from one holder to the next
	eventReleased  event = "released"  // gone before it could run out
	eventEnded     event = "ended"     // released, or run out
	eventChanged   event = "changed"   // the holder holds it in another way, or another number of permits
	eventWaiting   event = "waiting"   // the number of waiters
	eventLatch     event = "latch"     // what is left of a latch
	eventForgotten event = "forgotten" // a latch is not set any more
	eventNode      event = "node"      // what a node says
	eventAway      event = "away"      // the engine does not answer
	eventBack      event = "back"      // it does again
)

// changes returns what is different between two looks, by kind and name; all that there is, if there was no look before.
func changes(before *scene, now scene) []change {
	var was map[driver.Key]leasehold.Status
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

// comparison compares what was and is known of one key.
type comparison struct {
	was, is leasehold.Status
	first   bool
	since   time.Time // when the earlier look began
}

func (c comparison) changes() (all []change) {
	all = c.holders()
	if c.was.Waiting != c.is.Waiting {
		all = append(all, counted(eventWaiting, c.is.Waiting, c.was.Waiting, c.first))
	}
	switch was, is := c.was.Latch, c.is.Latch; {
	case is != nil && was == nil:
		all = append(all, change{Event: eventLatch, Count: &is.Count})
	case is != nil && was.Count != is.Count:
		all = append(all, counted(eventLatch, is.Count, was.Count, false))
	case is == nil && was != nil:
		all = append(all, change{Event: eventForgotten, Before: &was.Count})
	}
	return all
}

func counted(e event, now, before int, first bool) change {
	c := change{Event: e, Count: &now, Before: &before}
	if first {
		c.Before = nil
	}
	return c
}

// holders tells who has gone, who has come, and who holds it in another way. A token stands for a hold.
func (c comparison) holders() (all []change) {
	gone, come := without(c.was.Holders, c.is.Holders), without(c.is.Holders, c.was.Holders)
	if len(c.was.Holders) == 1 && len(c.is.Holders) == 1 && len(come) == 1 && c.is.Kind == leasehold.KindLock {
		return []change{{Event: eventHandedOn, Holder: new(newHolder(come[0])), From: new(newHolder(gone[0]))}}
	}
	for _, h := range gone {
		e := eventEnded
		// What is left of a lease was asked for after the look began, so it cannot have run out before this.
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
	for _, is := range c.is.Holders {
		for _, was := range c.was.Holders {
			if was.Token == is.Token && (was.Mode != is.Mode || was.Weight != is.Weight) {
				all = append(all, change{Event: eventChanged, Holder: new(newHolder(is)), From: new(newHolder(was))})
			}
		}
	}
	return all
}

// without returns the holders whose token is in none of the others.
func without(all, others []leasehold.Holder) []leasehold.Holder {
	return slices.DeleteFunc(slices.Clone(all), func(h leasehold.Holder) bool {
		return slices.ContainsFunc(others, func(o leasehold.Holder) bool { return o.Token == h.Token })
	})
}

// nodeChanges returns the nodes that say something else than before.
func nodeChanges(before, now []leasehold.Vote) (all []change) {
	for _, v := range now {
		same := func(o leasehold.Vote) bool {
			return o.Place == v.Place && answer(o) == answer(v) && (o.Closed > 0) == (v.Closed > 0)
		}
		if !slices.ContainsFunc(before, same) {
			all = append(all, change{Event: eventNode, Node: new(newNode(v))})
		}
	}
	return all
}
