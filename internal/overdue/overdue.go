// Package overdue keeps deadlines of keys, and calls a function for those that have passed.
//
// It is for engines whose servers know only how long a whole session lasts, and not each lease in it: then the process
// that holds a lease must end it itself.
package overdue

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/internal/agenda"
)

// Deadlines keeps a deadline for each of many keys. It is safe for concurrent use.
type Deadlines[K comparable] struct {
	origin time.Time
	onDue  func([]K)

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
	at  time.Duration // since origin, plus one tick
}

// New returns Deadlines without keys. onDue gets the keys whose deadlines have passed, which are no longer kept. It
// runs in its own goroutine, may take long, and is called again only when it has returned. It must not call Close.
func New[K comparable](onDue func([]K)) *Deadlines[K] {
	return &Deadlines[K]{origin: time.Now(), onDue: onDue, entries: make(map[K]*entry[K])}
}

// Extend adds a key, or moves its deadline to at if that is later. It does nothing after Close.
func (d *Deadlines[K]) Extend(k K, at time.Time) {
	d.put(k, at, false)
}

// Set adds a key, or moves its deadline to at, which may be earlier. It does nothing after Close.
func (d *Deadlines[K]) Set(k K, at time.Time) {
	d.put(k, at, true)
}

func (d *Deadlines[K]) put(k K, at time.Time, earlier bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	// One tick later, because the agenda may be one tick early.
	when := at.Sub(d.origin) + agenda.Tick
	e := d.entries[k]
	switch {
	case e == nil:
		e = &entry[K]{key: k}
		e.Value = e
		d.entries[k] = e
	case when <= e.at && !earlier:
		return
	}
	e.at = when
	d.agenda.Set(&e.Entry, when)
	d.armLocked()
}

// Remove removes a key, and reports whether it was kept.
func (d *Deadlines[K]) Remove(k K) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[k]
	if e == nil {
		return false
	}
	delete(d.entries, k)
	d.agenda.Remove(&e.Entry)
	return true
}

// Len returns the number of keys.
func (d *Deadlines[K]) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.entries)
}

// Close removes all keys and returns them. It waits until onDue has returned for the keys that it has got; after that
// onDue is not called again.
func (d *Deadlines[K]) Close() (left []K) {
	d.mu.Lock()
	d.closed = true
	left = slices.Collect(maps.Keys(d.entries))
	clear(d.entries)
	d.agenda.All(nil)
	if d.timer != nil && d.timer.Stop() {
		d.timer = nil
		d.running.Done()
	}
	d.mu.Unlock()
	d.running.Wait()
	return left
}

// armLocked sets the timer for the next deadline, unless onDue is running.
func (d *Deadlines[K]) armLocked() {
	next, some := d.agenda.Next()
	if !some {
		return
	}
	wait := time.Until(d.origin.Add(next))
	switch {
	case d.timer == nil:
		d.running.Add(1)
		d.timer = time.AfterFunc(wait, d.run)
	case d.timer.Stop():
		d.timer.Reset(wait)
	}
}

// run calls onDue while a deadline has passed.
func (d *Deadlines[K]) run() {
	defer d.running.Done()
	for {
		d.mu.Lock()
		var due []K
		for _, e := range d.agenda.Due(time.Since(d.origin), nil, math.MaxInt) {
			delete(d.entries, e.key)
			due = append(due, e.key)
		}
		if len(due) == 0 {
			d.timer = nil
			if !d.closed {
				d.armLocked()
			}
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		d.onDue(due)
	}
}
