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
	empty   int   // buckets with nothing in them
}

// bucket holds the entries of one tick. An emptied bucket stays until its tick has come, or there are too many.
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
	b, known := a.buckets[tick]
	if !known {
		if a.buckets == nil {
			a.buckets = make(map[int64]*bucket[T])
		}
		b = &bucket[T]{tick: tick}
		a.buckets[tick] = b
		heap.Push(&a.ticks, tick)
	}
	if b.first == nil && known {
		a.empty--
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
	b := e.bucket
	if b == nil {
		return
	}
	e.unlink()
	if b.first == nil {
		a.empty++
		if a.empty > fewEmpty && a.empty > len(a.buckets)/2 {
			a.compact()
		}
	}
}

// fewEmpty is how many empty buckets do not matter.
const fewEmpty = 64

// compact drops the empty buckets. It is called when they are the greater part, so that its cost, spread over the
// removals that led to it, stays the same.
func (a *Agenda[T]) compact() {
	a.ticks, a.empty = a.ticks[:0], 0
	for tick, b := range a.buckets {
		if b.first == nil {
			delete(a.buckets, tick)
			continue
		}
		a.ticks = append(a.ticks, tick)
	}
	heap.Init(&a.ticks)
}

func (e *Entry[T]) unlink() {
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
		a.empty--
		a.drop()
	}
	return 0, false
}

// Due takes out all entries that are due at now and appends their values to to.
func (a *Agenda[T]) Due(now time.Duration, to []T) []T {
	for len(a.ticks) > 0 && a.ticks[0] <= int64(now/Tick) {
		b := a.buckets[a.ticks[0]]
		if b.first == nil {
			a.empty--
		}
		for b.first != nil {
			to = append(to, b.first.Value)
			b.first.unlink()
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
