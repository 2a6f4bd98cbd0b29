// Package tape records what happens while a case is played: who waits, who believes that it holds the lock, what was written to the
// counter, and what was refused. A recording is what pictures are drawn from and verdicts are read from.
package tape

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Kind says what a lane is about.
type Kind string

// The lanes of a picture.
const (
	Client  Kind = "client"
	Locks   Kind = "locks"   // the servers that keep the lock
	Counter Kind = "counter" // what is written to under the lock
)

// During is what a client or a server is in for a while.
type During string

// What takes a while.
const (
	Waits   During = "waits"   // for the lock
	Holds   During = "holds"   // believes that it holds the lock
	Stopped During = "stopped" // its process stands still, whatever it believes
	Down    During = "down"    // a server
	Closed  During = "closed"  // a server that grants nothing
)

// What happens at a moment.
type What string

// What happens to a client, and to the counter.
const (
	Reads    What = "reads"
	Accepted What = "accepted" // a write that is built on all that were accepted before
	Lost     What = "lost"     // a write that was accepted over another one that it does not know
	Refused  What = "refused"  // a write, or a reading before it, that came with a token too small
	Dies     What = "dies"
	Hangs    What = "hangs" // it never gets the lock
	Note     What = "note"  // anything else that is worth a word
)

// Span is something that takes a while.
type Span struct {
	During   During
	From, To time.Duration
}

// Mark is something that happens at a moment.
type Mark struct {
	What What
	At   time.Duration
	Text string
	// Token is the fencing token that it is about, and Newest the largest that the counter has seen, if it has refused
	// that one. 0 is none.
	Token, Newest uint64
}

// Lane is all about one client, the servers, or the counter.
type Lane struct {
	Name  string
	Kind  Kind
	Spans []Span // by From
	Marks []Mark // by At
}

// Recording is a tape that has come to its end.
type Recording struct {
	TTL time.Duration
	End time.Duration // of the last thing that happened
	// Lanes are in the order in which they were made. Those without anything on them are left out.
	Lanes []Lane
	Verdict
}

// Tape records. Many goroutines may use it.
type Tape struct {
	now func() time.Duration

	mu      sync.Mutex
	lanes   []*Lane
	last    time.Duration
	verdict Verdict
	writer  string // of the last write that was accepted
}

// New returns an empty tape. The function tells the time since the beginning.
func New(now func() time.Duration) *Tape { return &Tape{now: now} }

// Lane makes a lane.
func (t *Tape) Lane(name string, k Kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lanes = append(t.lanes, &Lane{Name: name, Kind: k})
}

// open stands for the end of a span that goes on.
const open time.Duration = -1

// Begin begins a span.
func (t *Tape) Begin(lane string, d During) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lane(lane)
	l.Spans = append(l.Spans, Span{During: d, From: t.touch(), To: open})
}

// For notes a span that begins now, and of which it is known how long it lasts: the recording may end before.
func (t *Tape) For(lane string, d During, long time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lane(lane)
	from := t.touch()
	l.Spans = append(l.Spans, Span{During: d, From: from, To: from + long})
}

// End ends the span of that kind which is open. If there is none, it does nothing.
func (t *Tape) End(lane string, d During) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lane(lane)
	for i := range l.Spans {
		if s := &l.Spans[i]; s.During == d && s.To == open {
			s.To = t.touch()
		}
	}
}

// Mark notes something that happens now.
func (t *Tape) Mark(lane string, w What, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mark(lane, Mark{What: w, Text: text})
}

func (t *Tape) mark(lane string, m Mark) {
	m.At = t.touch()
	l := t.lane(lane)
	l.Marks = append(l.Marks, m)
}

// touch returns the time, and makes the recording last until now.
func (t *Tape) touch() time.Duration {
	t.last = max(t.last, t.now())
	return t.last
}

// lane finds a lane. One that was never made is a mistake in the play.
func (t *Tape) lane(name string) *Lane {
	for _, l := range t.lanes {
		if l.Name == name {
			return l
		}
	}
	panic("tape: there is no lane " + name)
}

// Stop ends the recording of a play with leases of so long. What still goes on ends with it.
func (t *Tape) Stop(ttl time.Duration) Recording {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Recording{TTL: ttl, End: t.last, Verdict: t.verdict}
	for _, l := range t.lanes {
		if len(l.Spans)+len(l.Marks) == 0 {
			continue
		}
		copied := Lane{Name: l.Name, Kind: l.Kind, Spans: slices.Clone(l.Spans), Marks: slices.Clone(l.Marks)}
		for i := range copied.Spans {
			if s := &copied.Spans[i]; s.To == open || s.To > r.End {
				s.To = r.End
			}
		}
		slices.SortStableFunc(copied.Spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
		r.Lanes = append(r.Lanes, copied)
	}
	return r
}
