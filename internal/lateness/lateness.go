// Package lateness is for tests that compare what happened with times. On a busy machine everything happens late, which
// is no fault of what is tested. Such a test measures how late the machine was, and repeats what does not count.
package lateness

import (
	"testing"
	"time"
)

const (
	// tolerable is how late something that is due may run on a machine that is not busy.
	tolerable = 100 * time.Millisecond
	// attempts is how often something is tried. The last attempt counts, however late the machine was.
	attempts = 4
	interval = 5 * time.Millisecond
)

// meter measures how late a machine runs a goroutine that is due every few milliseconds.
type meter struct {
	now   func() time.Time
	stop  chan struct{}
	worst chan time.Duration
}

// start begins to measure by a clock. Call finish in the end.
func start(now func() time.Time) *meter {
	m := &meter{now: now, stop: make(chan struct{}), worst: make(chan time.Duration)}
	go m.run()
	return m
}

func (m *meter) run() {
	var worst time.Duration
	due := m.now().Add(interval)
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-m.stop:
			m.worst <- max(worst, m.now().Sub(due))
			return
		}
		worst = max(worst, m.now().Sub(due))
		due = m.now().Add(interval)
		timer.Reset(interval)
	}
}

// finish ends the measurement, and returns by how much the goroutine was late at worst.
func (m *meter) finish() time.Duration {
	close(m.stop)
	return <-m.worst
}

// Try calls try until it succeeds, or fails on a machine that was not late, or has failed four times. try returns what
// is wrong, or "". So does Try, of the last call.
func Try(t testing.TB, try func() string) (problem string) {
	t.Helper()
	return repeat(t, time.Now, try)
}

// repeat is Try with a clock.
func repeat(t testing.TB, now func() time.Time, try func() string) (problem string) {
	t.Helper()
	for n := 1; ; n++ {
		m := start(now)
		problem = try()
		late := m.finish()
		if problem == "" || late < tolerable || n == attempts {
			return problem
		}
		t.Logf("attempt %d does not count, as the machine was %v late: %s", n, late, problem)
	}
}
