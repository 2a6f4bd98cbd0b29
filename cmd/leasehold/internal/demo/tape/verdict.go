package tape

import "fmt"

// CounterLane is the name of the lane of the counter.
const CounterLane = "counter"

// Verdict is what has become of the work.
type Verdict struct {
	// Accepted is how many writes the counter has taken, each of which is to add one.
	Accepted int
	// Value is what it stands at.
	Value int
	// Lost is how many updates are gone: writes that were accepted, and that the next one did not know of.
	Lost int
	// Refused is how many times the counter has refused a token.
	Refused int
	// Hung is how many clients never got the lock.
	Hung int
}

// Good reports whether no update was lost and nobody hangs.
func (v Verdict) Good() bool { return v.Lost == 0 && v.Hung == 0 }

// Read notes that a client has read the counter, under a token if it has one.
func (t *Tape) Read(client string, value int, token uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mark(client, Mark{What: Reads, Text: fmt.Sprintf("reads %d", value), Token: token})
}

// Wrote notes that the counter has taken a value from a client, and what it was before. A client adds one to what it has read, so
// a value that is not above the one before was reckoned without it.
func (t *Tape) Wrote(client string, was, is int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what, text := Accepted, fmt.Sprintf("= %d", is)
	if lost := was - is + 1; lost > 0 {
		what = Lost
		text = fmt.Sprintf("= %d: %s's update is lost", is, t.writer)
		t.verdict.Lost += lost
	}
	t.verdict.Accepted++
	t.verdict.Value = is
	t.writer = client
	t.mark(client, Mark{What: what, Text: fmt.Sprintf("writes %d", is)})
	t.mark(CounterLane, Mark{What: what, Text: text})
}

// Refuse notes that the counter has refused a client whose token is older than the newest one.
func (t *Tape) Refuse(client, text string, token, newest uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.verdict.Refused++
	t.mark(client, Mark{What: Refused, Text: text})
	t.mark(CounterLane, Mark{What: Refused, Text: "refused", Token: token, Newest: newest})
}

// Hang notes that a client has not got the lock by now, and would not get it.
func (t *Tape) Hang(client, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.verdict.Hung++
	t.mark(client, Mark{What: Hangs, Text: text})
}
