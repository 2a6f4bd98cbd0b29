// Package loglimit limits how often the same message is logged. An engine that is down or hostile can cause a line for
// each lease and each call, for as long as it likes. So each message is logged a few times, and then the number of
// suppressed lines is.
package loglimit

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// MaxLines is how often each message is logged in one Period.
	MaxLines = 20
	// Period is the time for which messages are counted.
	Period = 10 * time.Second
)

// Log is a log with limits. It is safe for concurrent use.
type Log struct {
	to *slog.Logger

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

// New returns a log that writes to a logger.
func New(to *slog.Logger) *Log { return &Log{to: to, messages: map[string]*messageCount{}} }

// Enabled reports whether lines of a level are logged at all. Where there may be very many, ask before Write, as its
// arguments take memory.
func (l *Log) Enabled(level slog.Level) bool { return l.to.Enabled(context.Background(), level) }

// Write logs a line, or counts it.
func (l *Log) Write(level slog.Level, text string, args ...any) {
	if l.Enabled(level) && l.allow(level, text) {
		l.to.Log(context.Background(), level, text, args...)
	}
}

// allow counts a line, and reports whether to log it.
func (l *Log) allow(level slog.Level, text string) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.messages[text]
	if m == nil {
		m = new(messageCount)
		l.messages[text] = m
	}
	if m.timer == nil && !now.Before(m.until) {
		m.written, m.until = 0, now.Add(Period)
	}
	if m.written < MaxLines {
		m.written++
		return true
	}
	if m.suppressed++; m.timer == nil && !l.closed {
		m.timer = time.AfterFunc(m.until.Sub(now), func() { l.writeSuppressed(level, text, m) })
	}
	return false
}

// writeSuppressed logs how many lines were suppressed, and ends the period.
func (l *Log) writeSuppressed(level slog.Level, text string, m *messageCount) {
	l.mu.Lock()
	left := m.suppressed
	m.suppressed, m.timer, m.until = 0, nil, time.Time{}
	l.mu.Unlock()
	if left > 0 {
		l.to.Log(context.Background(), level, "more of the same, not written one by one",
			"message", text, "lines", left)
	}
}

// Close logs the numbers of suppressed lines. After that no timer is started.
func (l *Log) Close() {
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
