// Package agenda keeps many entries that each have a time at which they are due. Adding, moving and removing one costs
// the same however many there are, because entries that are due in the same tick share a bucket.
package agenda

import (
	"container/heap"
	"math"
	"time"
)

// Tick is the resolution: an entry is due at the beginning of the tick that its time lies in, so up to one Tick early
// and never late.
const Tick = time.Millisecond

// Entry is an entry of an agenda. Make it a field of the thing that it stands for; then adding it needs no allocation.
type Entry[T any] struct {
	// Value is what Due returns.
	Value T

	bucket     *bucket[T]
	prev, next *Entry[T]
}

// Agenda is a set of entries ordered by time. The zero value is ready for use. It is not
// safe for concurrent use.
type Agenda[T any] struct {
	buckets      map[int64]*bucket[T]
	ticks        tickHeap // of all buckets, soonest first
	emptyBuckets int      // buckets without entries
}

// bucket has the entries of one tick. An empty bucket stays until its tick has come, or there are too many.
type bucket[T any] struct {
	tick  int64
	first *Entry[T]
}

// Set adds e with the time at, or moves it there.
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
		a.emptyBuckets--
	}
	e.bucket = b
	e.next = b.first
	if b.first != nil {
		b.first.prev = e
	}
	b.first = e
}

// Remove removes e. It does nothing if e is in no agenda.
func (a *Agenda[T]) Remove(e *Entry[T]) {
	b := e.bucket
	if b == nil {
		return
	}
	e.unlink()
	if b.first == nil {
		a.emptyBuckets++
		if a.emptyBuckets > fewEmptyBuckets && a.emptyBuckets > len(a.buckets)/2 {
			a.dropEmptyBuckets()
		}
	}
}

// fewEmptyBuckets is how many empty buckets do no harm.
const fewEmptyBuckets = 64

// dropEmptyBuckets removes the empty buckets. It runs when most buckets are empty, so its cost for each removal is
// constant.
func (a *Agenda[T]) dropEmptyBuckets() {
	a.ticks, a.emptyBuckets = a.ticks[:0], 0
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

// Next returns a time before which nothing is due, and false if the agenda is empty.
func (a *Agenda[T]) Next() (time.Duration, bool) {
	for len(a.ticks) > 0 {
		tick := a.ticks[0]
		if a.buckets[tick].first != nil {
			return time.Duration(tick) * Tick, true
		}
		a.emptyBuckets--
		a.dropFirst()
	}
	return 0, false
}

// Due removes entries that are due at now, soonest first but at most limit, and appends their values to to.
func (a *Agenda[T]) Due(now time.Duration, to []T, limit int) []T {
	for len(a.ticks) > 0 && a.ticks[0] <= int64(now/Tick) {
		b := a.buckets[a.ticks[0]]
		if b.first == nil {
			a.emptyBuckets--
		}
		for b.first != nil {
			if limit == 0 {
				return to
			}
			limit--
			to = append(to, b.first.Value)
			b.first.unlink()
		}
		a.dropFirst()
	}
	return to
}

// All removes every entry and appends the values to to.
func (a *Agenda[T]) All(to []T) []T {
	return a.Due(math.MaxInt64, to, math.MaxInt)
}

func (a *Agenda[T]) dropFirst() {
	delete(a.buckets, a.ticks[0])
	heap.Pop(&a.ticks)
}

// tickHeap is a heap of times.
type tickHeap []int64

func (t tickHeap) Len() int           { return len(t) }
func (t tickHeap) Less(i, j int) bool { return t[i] < t[j] }
func (t tickHeap) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *tickHeap) Push(x any)        { *t = append(*t, x.(int64)) }
func (t *tickHeap) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}
