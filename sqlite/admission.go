package sqlite

import (
	"iter"

	"github.com/leasehold-go/leasehold/driver"
)

// demand is what one owner wants of a key.
type demand struct {
	mode         driver.Mode
	weight, size int
}

// holderSum is what all holders of a key have together.
type holderSum struct {
	holders   int
	weight    int
	exclusive bool // one of them is exclusive
}

// admits reports whether one more owner may hold the key.
func (h holderSum) admits(kind driver.Kind, d demand) bool {
	switch {
	case kind == driver.Semaphore:
		return d.weight <= d.size-h.weight
	case d.mode == driver.Shared:
		return !h.exclusive
	default:
		return h.holders == 0
	}
}

// plus returns the sum with one more holder.
func (h holderSum) plus(d demand) holderSum {
	h.holders++
	h.weight += d.weight
	h.exclusive = h.exclusive || d.mode == driver.Exclusive
	return h
}

// grantable returns those who may hold now: the longest run from the head of the queue that is admitted together.
// Nobody is admitted past a waiter that has to wait, so that a stream of readers, or of small requests, never starves a
// writer or a large request.
func grantable(kind driver.Kind, h holderSum, queue iter.Seq[queueEntry]) []queueEntry {
	var run []queueEntry
	for entry := range queue {
		if !h.admits(kind, entry.demand) {
			break
		}
		h = h.plus(entry.demand)
		run = append(run, entry)
	}
	return run
}

// queueEntry is one waiter's place in a queue.
type queueEntry struct {
	seq int64
	demand
}
