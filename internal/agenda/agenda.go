// Package agenda keeps many things that each have a time at which somebody must
// look at them. Putting one in, moving it and taking it out cost the same however many
// there are, because things that are due at the same tick share a bucket.
package agenda

import (
	"container/heap"
	"time"
)

// Tick is the resolution: an entry is due at the beginning of the tick that
// its time lies in, so up to one Tick early and never late.
const Tick = time.Millisecond

// Entry is a place in an agenda. It is meant to be a field of the thing that it stands for,
// so that no memory is needed to put it in.
type Entry[T any] struct {
	// Value is what Due hands out.
	Value T

	bucket     *bucket[T]
	prev, next *Entry[T]
}

// Agenda is a set of entries ordered by time. The zero value is ready for use. It is not
// safe for concurrent use.
type Agenda[T any] struct {
	buckets map[int64]*bucket[T]
	ticks   ticks // of all buckets, soonest first
}

// bucket holds the entries of one tick. An emptied bucket stays until its tick has come.
type bucket[T any] struct {
	tick  int64
	first *Entry[T]
}

// Set puts e in at the time at, or moves it there.
func (a *Agenda[T]) Set(e *Entry[T], at time.Duration) {
	tick := int64(at / Tick)
	if e.bucket != nil {
		if e.bucket.tick == tick {
			return
		}
		a.Remove(e)
	}
	b := a.buckets[tick]
	if b == nil {
		if a.buckets == nil {
			a.buckets = make(map[int64]*bucket[T])
		}
		b = &bucket[T]{tick: tick}
		a.buckets[tick] = b
		heap.Push(&a.ticks, tick)
	}
	e.bucket = b
	e.next = b.first
	if b.first != nil {
		b.first.prev = e
	}
	b.first = e
}

// Remove takes e out. It does nothing if e is not in.
func (a *Agenda[T]) Remove(e *Entry[T]) {
	if e.bucket == nil {
		return
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		e.bucket.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.bucket, e.prev, e.next = nil, nil, nil
}

// Next returns a time before which nothing is due, and false if there is
// nothing in the agenda at all.
func (a *Agenda[T]) Next() (time.Duration, bool) {
	for len(a.ticks) > 0 {
		tick := a.ticks[0]
		if a.buckets[tick].first != nil {
			return time.Duration(tick) * Tick, true
		}
		a.drop()
	}
	return 0, false
}

// Due takes out all entries that are due at now and appends their values to to.
func (a *Agenda[T]) Due(now time.Duration, to []T) []T {
	for len(a.ticks) > 0 && a.ticks[0] <= int64(now/Tick) {
		b := a.buckets[a.ticks[0]]
		for b.first != nil {
			to = append(to, b.first.Value)
			a.Remove(b.first)
		}
		a.drop()
	}
	return to
}

// All takes out every entry and appends the values to to.
func (a *Agenda[T]) All(to []T) []T {
	return a.Due(1<<63-1, to)
}

func (a *Agenda[T]) drop() {
	delete(a.buckets, a.ticks[0])
	heap.Pop(&a.ticks)
}

// ticks is a heap of times.
type ticks []int64

func (t ticks) Len() int           { return len(t) }
func (t ticks) Less(i, j int) bool { return t[i] < t[j] }
func (t ticks) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *ticks) Push(x any)        { *t = append(*t, x.(int64)) }
func (t *ticks) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}
