package simulated

import (
	"container/heap"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
)

// clock is virtual time with its waiters. Functions started by Go run one at a time, each until it sleeps or awaits
// something, so that every run is the same.
type clock struct {
	now        time.Duration
	due        wakeQueue
	startOrder uint64 // number of wake-ups so far: those due at the same time come in this order
	running    *routine
	routines   []*routine
	happened   map[scenario.Event]bool
	awaited    map[scenario.Event][]*routine
	onAdvance  func(d time.Duration) // called when time passes
}

// routine is a function started by Go.
type routine struct {
	resume func() (struct{}, bool)
	stop   func()
	pause  func(struct{}) bool
	waits  int // number of its current wait; wake-ups of earlier waits are void
}

// wakeUp says when a routine goes on.
type wakeUp struct {
	at      time.Duration
	order   uint64
	routine *routine
	wait    int
}

// wakeQueue is a heap of wake-ups.
type wakeQueue []wakeUp

func (a wakeQueue) Len() int { return len(a) }
func (a wakeQueue) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a wakeQueue) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *wakeQueue) Push(w any)   { *a = append(*a, w.(wakeUp)) }
func (a *wakeQueue) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func newClock() *clock {
	return &clock{happened: map[scenario.Event]bool{}, awaited: map[scenario.Event][]*routine{}}
}

// Go implements [scenario.Environment].
func (c *clock) Go(f func()) {
	a := &routine{}
	a.resume, a.stop = iter.Pull(func(pause func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != errEnded {
				panic(r)
			}
		}()
		a.pause = pause
		f()
	})
	c.routines = append(c.routines, a)
	c.scheduleWake(a, 0)
}

// scheduleWake adds a wake-up for a routine.
func (c *clock) scheduleWake(a *routine, in time.Duration) {
	c.startOrder++
	heap.Push(&c.due, wakeUp{at: c.now + in, order: c.startOrder, routine: a, wait: a.waits})
}

// yield lets the other routines go on until the running one is woken.
func (c *clock) yield() {
	a := c.running
	if !a.pause(struct{}{}) {
		panic(errEnded)
	}
	a.waits++
}

// errEnded ends a routine when the run is over.
var errEnded = errors.New("simulated: the run is over")

// Sleep implements [scenario.Environment].
func (c *clock) Sleep(d time.Duration) {
	c.scheduleWake(c.running, max(d, 0))
	c.yield()
}

// Signal implements [scenario.Environment].
func (c *clock) Signal(m scenario.Event) {
	if c.happened[m] {
		return
	}
	c.happened[m] = true
	for _, a := range c.awaited[m] {
		c.scheduleWake(a, 0)
	}
	delete(c.awaited, m)
}

// Await implements [scenario.Environment].
func (c *clock) Await(most time.Duration, any ...scenario.Event) scenario.Event {
	first := func() scenario.Event {
		for _, m := range any {
			if c.happened[m] {
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
	c.scheduleWake(a, most)
	c.yield()
	for _, m := range any {
		c.awaited[m] = slices.DeleteFunc(c.awaited[m], func(other *routine) bool { return other == a })
	}
	return first()
}

// run runs until all routines have ended.
func (c *clock) run() {
	defer func() { // also after a panic
		for _, a := range c.routines {
			a.stop()
		}
	}()
	for len(c.due) > 0 {
		next := heap.Pop(&c.due).(wakeUp)
		if next.wait != next.routine.waits {
			continue
		}
		if d := next.at - c.now; d > 0 {
			c.now = next.at
			c.onAdvance(d)
		}
		c.running = next.routine
		if _, more := next.routine.resume(); !more {
			next.routine.waits++ // nothing wakes it any more
		}
	}
}
