// Package overdue keeps a time for each of many things, and calls a function for those whose time has passed.
//
// It is for engines on servers that know only how long a whole session lasts, and not each lease in it: the process that holds a lease then has to
// end it itself.
package overdue

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/internal/agenda"
)

// Book keeps the times. Many goroutines may use it.
type Book[K comparable] struct {
	origin time.Time
	call   func([]K)

	mu      sync.Mutex
	entries map[K]*entry[K]
	agenda  agenda.Agenda[*entry[K]]
	timer   *time.Timer
	closed  bool
	running sync.WaitGroup
}

type entry[K comparable] struct {
	agenda.Entry[*entry[K]]
	key K
	at  time.Duration // since origin
}

// New returns a book without times. call gets those things whose time has come, in a goroutine that it may keep busy: it is called again only when it has
// returned. Whatever it gets is no longer in the book. It must not call Close.
func New[K comparable](call func([]K)) *Book[K] {
	return &Book[K]{origin: time.Now(), call: call, entries: make(map[K]*entry[K])}
}

// Extend puts a thing in, or makes its time the later of the one it has and of at. It does nothing in a closed book.
func (b *Book[K]) Extend(k K, at time.Time) {
	b.put(k, at, false)
}

// Set puts a thing in, or moves its time to at, which may be earlier. It does nothing in a closed book.
func (b *Book[K]) Set(k K, at time.Time) {
	b.put(k, at, true)
}

func (b *Book[K]) put(k K, at time.Time, earlier bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	// Due a tick later than wanted, as the agenda may be early by one.
	when := at.Sub(b.origin) + agenda.Tick
	e := b.entries[k]
	switch {
	case e == nil:
		e = &entry[K]{key: k}
		e.Value = e
		b.entries[k] = e
	case when <= e.at && !earlier:
		return
	}
	e.at = when
	b.agenda.Set(&e.Entry, when)
	b.arm()
}

// Remove takes a thing out, and reports whether it was in.
func (b *Book[K]) Remove(k K) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[k]
	if e == nil {
		return false
	}
	delete(b.entries, k)
	b.agenda.Remove(&e.Entry)
	return true
}

// Len returns how many things are in.
func (b *Book[K]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

// Close empties the book, and returns what was in it: what the function has got it works on to the end. When it returns, the function is not running and is not called any more.
func (b *Book[K]) Close() (left []K) {
	b.mu.Lock()
	b.closed = true
	left = slices.Collect(maps.Keys(b.entries))
	clear(b.entries)
	b.agenda.All(nil)
	if b.timer != nil && b.timer.Stop() {
		b.timer = nil
		b.running.Done()
	}
	b.mu.Unlock()
	b.running.Wait()
	return left
}

// arm sees to it that the timer runs out when the next thing is due, unless the function runs. mu is held.
func (b *Book[K]) arm() {
	next, some := b.agenda.Next()
	if !some {
		return
	}
	wait := time.Until(b.origin.Add(next))
	switch {
	case b.timer == nil:
		b.running.Add(1)
		b.timer = time.AfterFunc(wait, b.run)
	case b.timer.Stop():
		b.timer.Reset(wait)
	}
}

// run calls the function while something is due.
func (b *Book[K]) run() {
	defer b.running.Done()
	for {
		b.mu.Lock()
		var due []K
		for _, e := range b.agenda.Due(time.Since(b.origin), nil) {
			delete(b.entries, e.key)
			due = append(due, e.key)
		}
		if len(due) == 0 {
			b.timer = nil
			if !b.closed {
				b.arm()
			}
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		b.call(due)
	}
}
