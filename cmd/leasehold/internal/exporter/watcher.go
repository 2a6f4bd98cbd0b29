package exporter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// Watcher polls an engine and keeps the result of the last poll.
type Watcher struct {
	// Open opens the engine, and returns a client and a function that closes the engine. After a failure it is called
	// again at the next poll.
	Open func() (*admin.Client, func(), error)
	// Interval is the time from the beginning of one poll to the beginning of the next.
	Interval time.Duration
	// Timeout is how long one poll may take. It must not be longer than Interval.
	Timeout time.Duration
	// Prefix limits locks, waiters and leaks to names that begin with it.
	Prefix string
	// Log is called with one line when polls begin to fail or to work again. All calls come from one goroutine.
	Log func(format string, args ...any)

	startedAt driver.Instant
	last      atomic.Pointer[snapshot]
}

// Start begins to poll, and returns a function that stops it: it waits for a poll in flight, and closes the engine.
func (w *Watcher) Start() (stop func()) {
	w.startedAt = driver.Now()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (w *Watcher) run(ctx context.Context) {
	tick := time.NewTicker(w.Interval)
	defer tick.Stop()
	var (
		client    *admin.Client
		shut      = func() {}
		resources resources
		bad       bool // the last poll has failed
	)
	defer func() { shut() }()
	for {
		began := time.Now()
		var s *snapshot
		if client == nil {
			if c, closeIt, err := w.Open(); err != nil {
				s = &snapshot{err: err}
			} else {
				client, shut = c, closeIt
			}
		}
		if client != nil {
			limited, cancel := context.WithTimeout(ctx, w.Timeout)
			s = takeSnapshot(limited, client, w.Prefix, &resources)
			cancel()
		}
		if ctx.Err() != nil {
			return // a cancelled poll says nothing
		}
		s.took, s.at = time.Since(began), driver.Now()
		w.last.Store(s)
		if failed := s.err != nil; failed != bad {
			bad = failed
			w.reportChange(s)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (w *Watcher) reportChange(s *snapshot) {
	if s.err == nil {
		w.Log("polling the engine works again")
		return
	}
	reason := strings.TrimPrefix(s.err.Error(), "leasehold: ") // each printed line begins with it
	if errors.Is(s.err, context.DeadlineExceeded) {
		reason = fmt.Sprintf("it takes longer than %s: %s", w.Timeout, reason)
	}
	w.Log("polling the engine fails, and is tried every %s: %s", w.Interval, reason)
}

// lastSnapshot returns the result of the last poll, or nil if there is none or if it is too old.
func (w *Watcher) lastSnapshot() *snapshot {
	s := w.last.Load()
	if s == nil || driver.Now().Since(s.at) > w.staleAfter() {
		return nil
	}
	return s
}

// staleAfter returns the time without a poll after which something must be wrong: an engine that ignores its time
// limit, or a machine that slept.
func (w *Watcher) staleAfter() time.Duration { return 2*w.Interval + w.Timeout }

// CheckStuck returns an error if no poll has ended for so long that none will.
func (w *Watcher) CheckStuck() error {
	since := w.startedAt
	if s := w.last.Load(); s != nil {
		since = s.at
	}
	if ago := driver.Now().Since(since); ago > w.staleAfter() {
		return fmt.Errorf("no poll of the engine has ended for %s", ago.Round(time.Second))
	}
	return nil
}
