package timeline

import "fmt"

// CounterLane is the name of the counter's lane.
const CounterLane = "counter"

// Result says what became of the work.
type Result struct {
	// Accepted is how many writes the counter has accepted. Each of them should add one.
	Accepted int
	// Value is the counter's last value.
	Value int
	// Lost is how many updates were lost: accepted writes that the next one did not know of.
	Lost int
	// Refused is how often the counter has refused a token.
	Refused int
	// Hung is how many clients never got the lock.
	Hung int
}

// Good reports whether no update was lost and no client hangs.
func (v Result) Good() bool { return v.Lost == 0 && v.Hung == 0 }

// NoteRead records that a client has read the counter, under a token if it has one.
func (t *Recorder) NoteRead(client string, value int, token uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addPoint(client, Point{Kind: Reads, Text: fmt.Sprintf("reads %d", value), Token: token})
}

// NoteWrite records that a client has set the counter from was to is. A client adds one to what it has read, so a value
// that is not larger than the one before did not take it into account.
func (t *Recorder) NoteWrite(client string, was, is int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what, text := Accepted, fmt.Sprintf("= %d", is)
	if lost := was - is + 1; lost > 0 {
		what = Lost
		text = fmt.Sprintf("= %d: %s's update is lost", is, t.lastWriter)
		t.result.Lost += lost
	}
	t.result.Accepted++
	t.result.Value = is
	t.lastWriter = client
	t.addPoint(client, Point{Kind: what, Text: fmt.Sprintf("writes %d", is)})
	t.addPoint(CounterLane, Point{Kind: what, Text: text})
}

// NoteRefusal records that the counter has refused a client because its token is older than the newest one.
func (t *Recorder) NoteRefusal(client, text string, token, newest uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Refused++
	t.addPoint(client, Point{Kind: Refused, Text: text})
	t.addPoint(CounterLane, Point{Kind: Refused, Text: "refused", Token: token, Newest: newest})
}

// NoteHang records that a client will never get the lock.
func (t *Recorder) NoteHang(client, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Hung++
	t.addPoint(client, Point{Kind: Hangs, Text: text})
}
