// Package timeline records what happens while a case runs: who waits, who believes that it holds the lock, what was
// written to the counter, and what was refused. Pictures and results come from it.
package timeline

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Kind says what a lane is about.
type Kind string

// The kinds of lanes.
const (
	Client  Kind = "client"
	Locks   Kind = "locks"   // the servers that keep the lock
	Counter Kind = "counter" // what clients write to under the lock
)

// State is a state that a client or a server is in for some time.
type State string

// The states.
const (
	Waits   State = "waits"   // for the lock
	Holds   State = "holds"   // believes that it holds the lock
	Stopped State = "stopped" // its process is stopped, whatever it believes
	Down    State = "down"    // a server is down
	Closed  State = "closed"  // a server grants nothing
)

// EventKind says what happens at a moment.
type EventKind string

// The kinds of events of clients and of the counter.
const (
	Reads    EventKind = "reads"
	Accepted EventKind = "accepted" // a write that takes all accepted writes into account
	Lost     EventKind = "lost"     // an accepted write that overwrites another one without knowing of it
	Refused  EventKind = "refused"  // a read or write whose token was too small
	Dies     EventKind = "dies"
	Hangs    EventKind = "hangs" // a client never gets the lock
	Note     EventKind = "note"  // anything else worth mentioning
)

// Interval is a state over some time.
type Interval struct {
	State    State
	From, To time.Duration
}

// Point is an event at a moment.
type Point struct {
	Kind EventKind
	At   time.Duration
	Text string
	// Token is the fencing token of the event. Newest is set if the counter has refused that token, and is the largest
	// that it has seen. 0 means none.
	Token, Newest uint64
}

// Lane has everything about one client, the servers, or the counter.
type Lane struct {
	Name      string
	Kind      Kind
	Intervals []Interval // sorted by From
	Points    []Point    // sorted by At
}

// Timeline is a finished recording.
type Timeline struct {
	TTL time.Duration
	End time.Duration // of the last event
	// Lanes are in the order in which they were added, without empty ones.
	Lanes []Lane
	Result
}

// Recorder records a timeline. It is safe for concurrent use.
type Recorder struct {
	now func() time.Duration

	mu         sync.Mutex
	lanes      []*Lane
	last       time.Duration
	result     Result
	lastWriter string // of the last accepted write
}

// New returns an empty recorder. now returns the time since the beginning.
func New(now func() time.Duration) *Recorder { return &Recorder{now: now} }

// AddLane adds a lane.
func (t *Recorder) AddLane(name string, k Kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lanes = append(t.lanes, &Lane{Name: name, Kind: k})
}

// stillOpen marks an interval that has not ended.
const stillOpen time.Duration = -1

// Begin begins an interval.
func (t *Recorder) Begin(lane string, d State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.findLane(lane)
	l.Intervals = append(l.Intervals, Interval{State: d, From: t.advance(), To: stillOpen})
}

// AddInterval adds an interval that begins now and lasts for a known time. The timeline may end before.
func (t *Recorder) AddInterval(lane string, d State, long time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.findLane(lane)
	from := t.advance()
	l.Intervals = append(l.Intervals, Interval{State: d, From: from, To: from + long})
}

// End ends the open interval with that state. If there is none, it does nothing.
func (t *Recorder) End(lane string, d State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.findLane(lane)
	for i := range l.Intervals {
		if s := &l.Intervals[i]; s.State == d && s.To == stillOpen {
			s.To = t.advance()
		}
	}
}

// AddPoint adds an event that happens now.
func (t *Recorder) AddPoint(lane string, w EventKind, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addPoint(lane, Point{Kind: w, Text: text})
}

func (t *Recorder) addPoint(lane string, m Point) {
	m.At = t.advance()
	l := t.findLane(lane)
	l.Points = append(l.Points, m)
}

// advance returns the time, and extends the timeline to it.
func (t *Recorder) advance() time.Duration {
	t.last = max(t.last, t.now())
	return t.last
}

// findLane finds a lane. It panics if the lane was never added.
func (t *Recorder) findLane(name string) *Lane {
	for _, l := range t.lanes {
		if l.Name == name {
			return l
		}
	}
	panic("timeline: there is no lane " + name)
}

// Finish ends the recording of a run with leases of ttl. Open intervals end with it.
func (t *Recorder) Finish(ttl time.Duration) Timeline {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Timeline{TTL: ttl, End: t.last, Result: t.result}
	for _, l := range t.lanes {
		if len(l.Intervals)+len(l.Points) == 0 {
			continue
		}
		copied := Lane{Name: l.Name, Kind: l.Kind, Intervals: slices.Clone(l.Intervals), Points: slices.Clone(l.Points)}
		for i := range copied.Intervals {
			if s := &copied.Intervals[i]; s.To == stillOpen || s.To > r.End {
				s.To = r.End
			}
		}
		slices.SortStableFunc(copied.Intervals, func(a, b Interval) int { return cmp.Compare(a.From, b.From) })
		r.Lanes = append(r.Lanes, copied)
	}
	return r
}
