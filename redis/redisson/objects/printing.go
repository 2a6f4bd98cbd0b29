package objects

import (
	"fmt"
	"io"
)

// Format implements [fmt.Formatter]. Every verb prints the same text, and no internal state.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "redisson client") }

// Format implements [fmt.Formatter]. Every verb prints the lock's name, and no internal state.
func (l *Lock) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "lock %q", l.h.name) }

// Format implements [fmt.Formatter]. Every verb prints the lock's name, and no internal state.
func (l *ReadWriteLock) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "read-write lock %q", l.h.name)
}

// Format implements [fmt.Formatter]. Every verb prints the names of the locks, and no internal state.
func (m *MultiLock) Format(f fmt.State, _ rune) {
	before := "multi-lock of "
	for _, l := range m.locks {
		_, _ = fmt.Fprint(f, before, l)
		before = ", "
	}
}

// Format implements [fmt.Formatter]. Every verb prints the semaphore's name, and no internal state.
func (s *Semaphore) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "semaphore %q", s.name) }

// Format implements [fmt.Formatter]. Every verb prints the latch's name, and no internal state.
func (l *CountDownLatch) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "latch %q", l.name) }
