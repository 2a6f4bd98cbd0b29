package leasehold_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
)

// logLines keeps the lines of a log and their times.
type logLines struct {
	mu    sync.Mutex
	times []time.Time
	lines map[string]int // logged lines of each message
	left  int            // suppressed lines, according to the log
}

func (p *logLines) Enabled(context.Context, slog.Level) bool { return true }
func (p *logLines) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p *logLines) WithGroup(string) slog.Handler            { return p }

func (p *logLines) Handle(_ context.Context, r slog.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.times = append(p.times, r.Time)
	p.lines[r.Message]++
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "lines" {
			p.left += int(a.Value.Int64())
		}
		return true
	})
	return nil
}

// An engine loses all leases and does not answer for an hour, while a program holds hundreds of locks and goes on
// asking. The log has a few lines a second, and says how many were suppressed.
func TestAnEngineThatIsDownDoesNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSpy()
		p := &logLines{lines: map[string]int{}}
		lost := &losses{}
		c := leasehold.New(e, leasehold.WithLogger(slog.New(p)), leasehold.WithObserver(lost),
			leasehold.WithDefaults(leasehold.TTL(10*time.Second)))
		const locks = 300
		for i := range locks {
			_, err := c.Mutex(fmt.Sprint("held ", i)).Lock(t.Context())
			noErr(t, err)
		}
		e.fail(func(call) error { return errors.New("down") })
		for i := range 3600 {
			_, _ = c.Mutex(fmt.Sprint("asked ", i%500)).TryLock(t.Context())
			time.Sleep(time.Second)
		}
		e.fail(nil)
		noErr(t, c.Close())
		p.mu.Lock()
		defer p.mu.Unlock()
		peak, first := 0, 0
		for i, at := range p.times {
			for at.Sub(p.times[first]) > 10*time.Second {
				first++
			}
			peak = max(peak, i-first+1)
		}
		if peak > 5*21 {
			t.Errorf("%d lines in 10 s", peak)
		}
		if n := lost.n.Load(); n != locks {
			t.Errorf("observers were told of %d lost leases, want %d", n, locks)
		}
		written := 0
		for text, n := range p.lines {
			if !strings.HasPrefix(text, "more of the same") {
				written += n
			}
		}
		if p.lines["lease lost"] == 0 || p.left == 0 || written+p.left < 2*locks {
			t.Errorf("%v were written, and %d left out; want all to be counted", p.lines, p.left)
		}
	})
}

// losses counts lost leases.
type losses struct{ n atomic.Int64 }

func (l *losses) ObserveLost(leasehold.Lost) { l.n.Add(1) }
