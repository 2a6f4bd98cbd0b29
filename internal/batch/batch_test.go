package batch

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

var errClosed, errBusy = errors.New("closed"), errors.New("busy")

// request ends once: with nil when it was sent, and otherwise with an error.
type request struct {
	answered chan struct{} // has room for one
	answers  atomic.Int32
	err      error // the first answer
}

func newRequest() *request { return &request{answered: make(chan struct{}, 1)} }

func (r *request) end(err error) {
	if r.answers.Add(1) == 1 {
		r.err = err
		r.answered <- struct{}{}
	}
}

// server answers all batches when the test lets it. Those that it has for longer than a timeout are overdue.
type server struct {
	Batcher[*request]
	thaw  chan struct{} // batches are answered when it is closed
	sizes []int         // of the batches that were sent
}

const timeout = time.Minute

// run runs a test in virtual time, which fails if a goroutine is left at the end.
func run(t *testing.T, test func(t *testing.T, s *server)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{thaw: make(chan struct{})}
		s.Batcher = Batcher[*request]{
			MaxSenders: 2, MaxOverdue: 3, MaxBatch: 4, ErrClosed: errClosed, ErrBusy: errBusy,
			Go: func(sender func()) { go sender() }, Fail: (*request).end, Send: s.answer,
		}
		test(t, s)
		synctest.Wait()
		s.checkNothingLeft(t)
	})
}

func (b *Batcher[R]) checkNothingLeft(t *testing.T) {
	t.Helper()
	if queued, busy, overdue := b.Load(); queued != 0 || busy != 0 || overdue != 0 {
		t.Errorf("%d requests are queued, %d senders busy and %d overdue at the end", queued, busy, overdue)
	}
}

func (s *server) answer(requests []*request) (inTime bool) {
	s.mu.Lock()
	s.sizes = append(s.sizes, len(requests))
	s.mu.Unlock()
	inTime = true
	select {
	case <-s.thaw:
	case <-time.After(timeout):
		inTime = false
		s.NoteOverdue()
		<-s.thaw
	}
	for _, r := range requests {
		r.end(nil)
	}
	return inTime
}

// add adds some requests, one after the other.
func (s *server) add(n int) (added []*request) {
	for range n {
		synctest.Wait()
		r := newRequest()
		added = append(added, r)
		s.Add(r)
	}
	synctest.Wait()
	return added
}

// check fails the test unless all requests have had this outcome, once.
func check(t *testing.T, what string, want error, all ...*request) {
	t.Helper()
	synctest.Wait()
	for _, r := range all {
		if n := r.answers.Load(); n != 1 || r.err != want {
			t.Errorf("%s: %d outcomes, the first is %v, want %v", what, n, r.err, want)
		}
	}
}

// A request that finds a sender free is sent at once and alone. The others go together, a limited number at a time.
func TestQueuedRequestsGoTogether(t *testing.T) {
	run(t, func(t *testing.T, s *server) {
		all := s.add(2 + 6)
		close(s.thaw)
		check(t, "sent", nil, append(all, s.add(1)...)...)
		if want := []int{1, 1, 4, 2, 1}; !slices.Equal(s.sizes, want) {
			t.Errorf("batches of %v were sent, want %v", s.sizes, want)
		}
	})
}

// A caller that sends its own request takes the place of a sender.
func TestCallersCountAsSenders(t *testing.T) {
	run(t, func(t *testing.T, s *server) {
		close(s.thaw)
		if first, second, third := s.Begin(), s.Begin(), s.Begin(); !first || !second || third {
			t.Fatal("want that two callers may send")
		}
		all := s.add(3)
		if len(s.sizes) > 0 {
			t.Error("a third sender was started")
		}
		s.End(true)
		check(t, "queued", nil, all...)
		s.NoteOverdue()
		s.End(false)
		s.Close()
		if s.Begin() {
			t.Error("a caller may send after Close")
		}
	})
}

// A caller leaves when its context ends. A request that was not sent by then never is.
func TestCallersLeave(t *testing.T) {
	run(t, func(t *testing.T, s *server) {
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for i, r := range s.add(4) {
			callers.Go(func() {
				err := s.Await(ctx, r, r.answered)
				if sent := i < 2; !errors.Is(err, context.Canceled) || driver.HadNoEffect(err) == sent {
					t.Errorf("sent: %v, and then given up: %v", sent, err)
				}
			})
		}
		synctest.Wait()
		cancel()
		callers.Wait()
		stays := s.add(1)[0]
		close(s.thaw)
		if err := s.Await(t.Context(), stays, stays.answered); err != nil || !slices.Equal(s.sizes, []int{1, 1, 1}) {
			t.Errorf("batches of %v were sent (%v), want three of one request", s.sizes, err)
		}
	})
}

// Overdue senders are replaced, up to a limit. Beyond it requests fail until a sender returns.
func TestOverdueSenders(t *testing.T) {
	run(t, func(t *testing.T, s *server) {
		all := s.add(4) // two are queued
		time.Sleep(timeout)
		synctest.Wait()
		waits := s.add(1)
		if queued, busy, overdue := s.Load(); queued != 1 || busy != 1 || overdue != 2 {
			t.Errorf("%d requests are queued, %d senders busy and %d overdue, want 1, 1, 2", queued, busy, overdue)
		}
		time.Sleep(timeout)
		check(t, "when the last sender is overdue", errBusy, append(waits, s.add(1)...)...)
		close(s.thaw)
		check(t, "when the server answers again", nil, append(all, s.add(1)...)...)
	})
}

// Close fails what was not sent. What is in flight gets its answers.
func TestClose(t *testing.T) {
	run(t, func(t *testing.T, s *server) {
		all := s.add(3)
		s.Close()
		check(t, "not sent", errClosed, append(s.add(1), all[2])...)
		close(s.thaw)
		check(t, "in flight", nil, all[:2]...)
		check(t, "never sent", errClosed, all[2])
	})
}

// Whenever its caller leaves, a request is sent, withdrawn or failed, and only one of these.
func TestEachRequestHasOneOutcome(t *testing.T) {
	t.Parallel()
	var senders, callers sync.WaitGroup
	b := &Batcher[*request]{MaxSenders: 2, MaxOverdue: 4, MaxBatch: 8, ErrClosed: errClosed, ErrBusy: errBusy,
		Go: senders.Go, Fail: (*request).end}
	b.Send = func(requests []*request) bool {
		inTime := rand.IntN(4) > 0
		if !inTime {
			b.NoteOverdue()
		}
		time.Sleep(rand.N(20 * time.Microsecond))
		for _, r := range requests {
			r.end(nil)
		}
		return inTime
	}
	var all [32][200]*request
	for i := range all {
		callers.Go(func() {
			for j := range all[i] {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(100*time.Microsecond))
				r := newRequest()
				all[i][j] = r
				b.Add(r)
				if err := b.Await(ctx, r, r.answered); driver.HadNoEffect(err) {
					r.end(err)
				} else if err == nil && r.answers.Load() != 1 {
					t.Error("a request has no outcome")
				}
				cancel()
			}
		})
	}
	callers.Wait()
	b.Close()
	senders.Wait()
	for i := range all {
		for _, r := range all[i] {
			if n := r.answers.Load(); n != 1 {
				t.Errorf("a request has had %d outcomes, the first is %v", n, r.err)
			}
		}
	}
	b.checkNothingLeft(t)
}
