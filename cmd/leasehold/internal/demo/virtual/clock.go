package virtual

import (
	"container/heap"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
)

// clock is virtual time, and who waits for what in it. Functions that Go has begun run one at a time, each until it sleeps or
// awaits something, so that a play is the same each time.
type clock struct {
	now     time.Duration
	due     agenda
	begun   uint64 // how often anything was put on the agenda: what is due at the same time comes in this order
	running *actor
	actors  []*actor
	came    map[stage.Moment]bool
	awaited map[stage.Moment][]*actor
	passes  func(d time.Duration) // is told that time passes
}

// actor is a function that Go has begun.
type actor struct {
	resume func() (struct{}, bool)
	stop   func()
	pause  func(struct{}) bool
	sleeps int // which of its waits it is in: a waking for an earlier one is void
}

// waking is when an actor goes on.
type waking struct {
	at    time.Duration
	turn  uint64
	actor *actor
	sleep int
}

// agenda is a heap of what is due.
type agenda []waking

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].turn < a[j].turn
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(w any)   { *a = append(*a, w.(waking)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func newClock() *clock {
	return &clock{came: map[stage.Moment]bool{}, awaited: map[stage.Moment][]*actor{}}
}

// Go implements [stage.World].
func (c *clock) Go(f func()) {
	a := &actor{}
	a.resume, a.stop = iter.Pull(func(pause func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != errStopped {
				panic(r)
			}
		}()
		a.pause = pause
		f()
	})
	c.actors = append(c.actors, a)
	c.wake(a, 0)
}

// wake puts an actor on the agenda.
func (c *clock) wake(a *actor, in time.Duration) {
	c.begun++
	heap.Push(&c.due, waking{at: c.now + in, turn: c.begun, actor: a, sleep: a.sleeps})
}

// park lets all others go on until the running actor is woken.
func (c *clock) park() {
	a := c.running
	if !a.pause(struct{}{}) {
		panic(errStopped)
	}
	a.sleeps++
}

// errStopped ends an actor that is not played to its end.
var errStopped = errors.New("virtual: the play is over")

// Sleep implements [stage.World].
func (c *clock) Sleep(d time.Duration) {
	c.wake(c.running, max(d, 0))
	c.park()
}

// Fire implements [stage.World].
func (c *clock) Fire(m stage.Moment) {
	if c.came[m] {
		return
	}
	c.came[m] = true
	for _, a := range c.awaited[m] {
		c.wake(a, 0)
	}
	delete(c.awaited, m)
}

// Await implements [stage.World].
func (c *clock) Await(most time.Duration, any ...stage.Moment) stage.Moment {
	first := func() stage.Moment {
		for _, m := range any {
			if c.came[m] {
				return m
			}
		}
		return ""
	}
	if m := first(); m != "" {
		return m
	}
	a := c.running
	for _, m := range any {
		c.awaited[m] = append(c.awaited[m], a)
	}
	c.wake(a, most)
	c.park()
	for _, m := range any {
		c.awaited[m] = slices.DeleteFunc(c.awaited[m], func(other *actor) bool { return other == a })
	}
	return first()
}

// run plays until all actors have ended.
func (c *clock) run() {
	defer func() { // also if one of them panics
		for _, a := range c.actors {
			a.stop()
		}
	}()
	for len(c.due) > 0 {
		next := heap.Pop(&c.due).(waking)
		if next.sleep != next.actor.sleeps {
			continue
		}
		if d := next.at - c.now; d > 0 {
			c.now = next.at
			c.passes(d)
		}
		c.running = next.actor
		if _, more := next.actor.resume(); !more {
			next.actor.sleeps++ // nothing wakes it any more
		}
	}
}
