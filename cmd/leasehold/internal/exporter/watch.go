package exporter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// Watcher looks at an engine, again and again, and remembers what it saw last.
type Watcher struct {
	// Open opens the engine, and returns a client of it and what closes both. It is called again, at the next look, after it has failed.
	Open func() (*leasehold.Client, func(), error)
	// Interval is the time from the beginning of one look to that of the next.
	Interval time.Duration
	// Timeout is how long one look may take. It must not be longer than Interval.
	Timeout time.Duration
	// Prefix limits locks, waiters and leaks to names that begin with it.
	Prefix string
	// Say is told, in one line, when looks begin to fail or work again. It is called from one goroutine.
	Say func(format string, args ...any)

	begun driver.Instant
	last  atomic.Pointer[sight]
}

// Start begins to look, and returns what ends it: it waits until a look that is under way has ended, and closes the engine.
func (w *Watcher) Start() (stop func()) {
	w.begun = driver.Now()
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
		client    *leasehold.Client
		shut      = func() {}
		resources resources
		bad       bool // the last look has failed
	)
	defer func() { shut() }()
	for {
		began := time.Now()
		var s *sight
		if client == nil {
			if c, closeIt, err := w.Open(); err != nil {
				s = &sight{err: err}
			} else {
				client, shut = c, closeIt
			}
		}
		if client != nil {
			limited, cancel := context.WithTimeout(ctx, w.Timeout)
			s = look(limited, client, w.Prefix, &resources)
			cancel()
		}
		if ctx.Err() != nil {
			return // a look that was cut short says nothing
		}
		s.took, s.at = time.Since(began), driver.Now()
		w.last.Store(s)
		if failed := s.err != nil; failed != bad {
			bad = failed
			w.tell(s)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (w *Watcher) tell(s *sight) {
	if s.err == nil {
		w.Say("the engine can be looked at again")
		return
	}
	reason := strings.TrimPrefix(s.err.Error(), "leasehold: ") // with which each line begins
	if errors.Is(s.err, context.DeadlineExceeded) {
		reason = fmt.Sprintf("it takes longer than %s: %s", w.Timeout, reason)
	}
	w.Say("the look at the engine fails, and is tried every %s: %s", w.Interval, reason)
}

// seen returns what the last look has found, and nil if there was none, or it was so long ago that it says nothing about now.
func (w *Watcher) seen() *sight {
	s := w.last.Load()
	if s == nil || driver.Now().Since(s.at) > w.patience() {
		return nil
	}
	return s
}

// patience is after what time without a look something must be wrong: an engine that does not heed its time limit, or a machine that slept.
func (w *Watcher) patience() time.Duration { return 2*w.Interval + w.Timeout }

// Stuck returns an error if no look has ended for so long that none will.
func (w *Watcher) Stuck() error {
	since := w.begun
	if s := w.last.Load(); s != nil {
		since = s.at
	}
	if ago := driver.Now().Since(since); ago > w.patience() {
		return fmt.Errorf("no look at the engine has ended for %s", ago.Round(time.Second))
	}
	return nil
}
