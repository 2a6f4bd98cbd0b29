package leasehold

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxLogLines is how often a client logs each message in one logPeriod.
	maxLogLines = 20
	// logPeriod is the time for which messages are counted.
	logPeriod = 10 * time.Second
)

// limitedLog logs events that no caller is told. An engine that is down or hostile can cause a line for each lease and
// each call, for as long as it likes. So each message is logged a few times, and then the number of suppressed lines
// is. Observers get every event.
type limitedLog struct {
	logger *slog.Logger

	mu       sync.Mutex
	messages map[string]*messageCount
	closed   bool
}

// messageCount counts the lines with one message in one period.
type messageCount struct {
	written, suppressed int
	until               time.Time
	timer               *time.Timer // logs the number of suppressed lines
}

// write logs a line, or counts it.
func (l *limitedLog) write(level slog.Level, text string, args ...any) {
	if l.logger.Enabled(context.Background(), level) && l.allow(level, text) {
		l.logger.Log(context.Background(), level, text, args...)
	}
}

// allow counts a line, and reports whether to log it.
func (l *limitedLog) allow(level slog.Level, text string) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.messages[text]
	if m == nil {
		m = new(messageCount)
		if l.messages == nil {
			l.messages = map[string]*messageCount{}
		}
		l.messages[text] = m
	}
	if m.timer == nil && !now.Before(m.until) {
		m.written, m.until = 0, now.Add(logPeriod)
	}
	if m.written < maxLogLines {
		m.written++
		return true
	}
	if m.suppressed++; m.timer == nil && !l.closed {
		m.timer = time.AfterFunc(m.until.Sub(now), func() { l.writeSuppressed(level, text, m) })
	}
	return false
}

// writeSuppressed logs how many lines were suppressed, and ends the period.
func (l *limitedLog) writeSuppressed(level slog.Level, text string, m *messageCount) {
	l.mu.Lock()
	left := m.suppressed
	m.suppressed, m.timer, m.until = 0, nil, time.Time{}
	l.mu.Unlock()
	if left > 0 {
		l.logger.Log(context.Background(), level, "more of the same, not written one by one",
			"message", text, "lines", left)
	}
}

// close logs the numbers of suppressed lines.
func (l *limitedLog) close() {
	l.mu.Lock()
	l.closed = true
	left := map[string]*messageCount{}
	for text, m := range l.messages {
		if m.timer != nil && m.timer.Stop() {
			left[text] = m
		}
	}
	l.mu.Unlock()
	for text, m := range left {
		l.writeSuppressed(slog.LevelWarn, text, m)
	}
}
