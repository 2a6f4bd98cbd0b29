package leasehold

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// Of each message a client writes at most so many lines,
	journalLines = 20
	// in so long.
	journalPeriod = 10 * time.Second
)

// journal writes down what nobody is there to be told. An engine that is down, or hostile, may give cause to a line for each lease, and for each call, as long as it likes: so of
// each message there are some lines, and then the number of those that were left out. Observers hear of each.
type journal struct {
	to *slog.Logger

	mu       sync.Mutex
	messages map[string]*messages
	closed   bool
}

// messages are those with one text, in one period.
type messages struct {
	written, left int
	until         time.Time
	timer         *time.Timer // tells of those that were left out
}

// write writes a line, or counts it.
func (j *journal) write(level slog.Level, text string, args ...any) {
	if j.to.Enabled(context.Background(), level) && j.allows(level, text) {
		j.to.Log(context.Background(), level, text, args...)
	}
}

// allows counts a line, and reports whether it is to be written.
func (j *journal) allows(level slog.Level, text string) bool {
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	m := j.messages[text]
	if m == nil {
		m = new(messages)
		if j.messages == nil {
			j.messages = map[string]*messages{}
		}
		j.messages[text] = m
	}
	if m.timer == nil && !now.Before(m.until) {
		m.written, m.until = 0, now.Add(journalPeriod)
	}
	if m.written < journalLines {
		m.written++
		return true
	}
	if m.left++; m.timer == nil && !j.closed {
		m.timer = time.AfterFunc(m.until.Sub(now), func() { j.sum(level, text, m) })
	}
	return false
}

// sum writes how many lines were left out, and ends the period.
func (j *journal) sum(level slog.Level, text string, m *messages) {
	j.mu.Lock()
	left := m.left
	m.left, m.timer, m.until = 0, nil, time.Time{}
	j.mu.Unlock()
	if left > 0 {
		j.to.Log(context.Background(), level, "more of the same, not written one by one", "message", text, "lines", left)
	}
}

// close writes what is still to be said.
func (j *journal) close() {
	j.mu.Lock()
	j.closed = true
	left := map[string]*messages{}
	for text, m := range j.messages {
		if m.timer != nil && m.timer.Stop() {
			left[text] = m
		}
	}
	j.mu.Unlock()
	for text, m := range left {
		j.sum(slog.LevelWarn, text, m)
	}
}
