package sqlite

import (
	"iter"

	"github.com/leasehold-go/leasehold/driver"
)

// claim is what one owner wants of a key.
type claim struct {
	mode         driver.Mode
	weight, size int
}

// crowd is what all holders of a key have together.
type crowd struct {
	holders   int
	weight    int
	exclusive bool // one of them excludes everybody
}

// admits reports whether a claim may join the crowd.
func (c crowd) admits(kind driver.Kind, want claim) bool {
	switch {
	case kind == driver.Semaphore:
		return want.weight <= want.size-c.weight
	case want.mode == driver.Shared:
		return !c.exclusive
	default:
		return c.holders == 0
	}
}

// with returns the crowd together with one more.
func (c crowd) with(joined claim) crowd {
	c.holders++
	c.weight += joined.weight
	c.exclusive = c.exclusive || joined.mode == driver.Exclusive
	return c
}

// entering returns those who may enter now: the longest run from the head of the queue that the
// crowd admits together. Nobody behind one who must wait enters, so that a
// stream of readers, or of small claims, never starves a writer or a large one.
func entering(kind driver.Kind, c crowd, queue iter.Seq[place]) []place {
	var run []place
	for p := range queue {
		if !c.admits(kind, p.claim) {
			break
		}
		c = c.with(p.claim)
		run = append(run, p)
	}
	return run
}

// place is one waiter's place in a queue.
type place struct {
	seq int64
	claim
}
