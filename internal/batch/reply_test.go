package batch

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// question is a request whose answer is its own number.
type question struct {
	number int
	reply  Reply
	left   atomic.Int32 // answers that came after the caller had left
	failed atomic.Int32 // times that it was not sent
}

var errOdd = errors.New("odd")

// answer answers a question; half of them with an error.
func (q *question) answer() {
	var err error
	if q.number%2 == 1 {
		err = errOdd
	}
	if !q.reply.Settle(q.number, err) {
		q.left.Add(1)
	}
}

func (q *question) fail(err error) {
	q.failed.Add(1)
	q.reply.Settle(nil, err)
}

// asker asks questions of a server that answers one at a time, when it is told to.
type asker struct {
	Batcher[*question]
	next chan struct{}
	sent []*question
}

// outcome is what Wait has returned.
type outcome struct {
	answer any
	err    error
}

func runAsker(t *testing.T, test func(t *testing.T, a *asker)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &asker{next: make(chan struct{})}
		a.Batcher = Batcher[*question]{
			MaxSenders: 1, MaxOverdue: 1, MaxBatch: 1, ErrClosed: errClosed, ErrBusy: errBusy,
			Go: func(sender func()) { go sender() }, Fail: (*question).fail,
			Send: func(all []*question) bool {
				a.sent = append(a.sent, all...)
				<-a.next
				all[0].answer()
				return true
			},
		}
		test(t, a)
		close(a.next)
		synctest.Wait()
		a.checkNothingLeft(t)
	})
}

// ask asks in the background, and returns when the question is sent or queued.
func (a *asker) ask(ctx context.Context, q *question, leave bool) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		answer, err := a.Wait(ctx, q, &q.reply, leave)
		done <- outcome{answer, err}
	}()
	synctest.Wait()
	return done
}

// wantEnded returns the outcome of a call of Wait that must have ended.
func wantEnded(t *testing.T, done <-chan outcome) outcome {
	t.Helper()
	synctest.Wait()
	select {
	case o := <-done:
		return o
	default:
		t.Fatal("Wait has not returned")
		return outcome{}
	}
}

// A caller gets the answer and the error of its own request.
func TestWaitReturnsTheAnswer(t *testing.T) {
	runAsker(t, func(t *testing.T, a *asker) {
		even, odd := a.ask(t.Context(), &question{number: 2}, true), a.ask(t.Context(), &question{number: 3}, false)
		a.next <- struct{}{}
		a.next <- struct{}{}
		if o := wantEnded(t, even); o != (outcome{2, nil}) {
			t.Errorf("the answer is %v", o)
		}
		if o := wantEnded(t, odd); o != (outcome{3, errOdd}) {
			t.Errorf("the answer is %v", o)
		}
	})
}

// A caller whose context ends before its request is sent returns at once, and the request is never sent.
func TestWaitWithdraws(t *testing.T) {
	for _, leave := range []bool{false, true} {
		t.Run(map[bool]string{false: "stays", true: "leaves"}[leave], func(t *testing.T) {
			runAsker(t, func(t *testing.T, a *asker) {
				a.ask(t.Context(), new(question), true)
				ctx, cancel := context.WithCancel(t.Context())
				withdrawn := a.ask(ctx, &question{number: 2}, leave)
				cancel()
				o := wantEnded(t, withdrawn)
				if !driver.HadNoEffect(o.err) || driver.IsSpent(o.err) || !errors.Is(o.err, context.Canceled) {
					t.Errorf("the error is %v, want that there was no effect", o.err)
				}
				a.next <- struct{}{}
				synctest.Wait()
				if len(a.sent) != 1 {
					t.Errorf("%d requests were sent, want 1", len(a.sent))
				}
			})
		})
	}
}

// A caller that leaves a request that was sent returns at once, and Settle says that nobody gets the answer.
func TestWaitLeaves(t *testing.T) {
	runAsker(t, func(t *testing.T, a *asker) {
		ctx, cancel := context.WithCancel(t.Context())
		q := &question{number: 2}
		left := a.ask(ctx, q, true)
		cancel()
		o := wantEnded(t, left)
		if driver.HadNoEffect(o.err) || !driver.IsSpent(o.err) || !errors.Is(o.err, context.Canceled) {
			t.Errorf("the error is %v, want that the outcome is unknown and the owner spent", o.err)
		}
		a.next <- struct{}{}
		synctest.Wait()
		if q.left.Load() != 1 {
			t.Error("Settle has not said that the caller has left")
		}
	})
}

// A caller that does not leave gets its answer after the end of its context.
func TestWaitStays(t *testing.T) {
	runAsker(t, func(t *testing.T, a *asker) {
		ctx, cancel := context.WithCancel(t.Context())
		q := &question{number: 2}
		stays := a.ask(ctx, q, false)
		cancel()
		synctest.Wait()
		if len(stays) > 0 {
			t.Fatalf("Wait has returned without an answer: %v", <-stays)
		}
		a.next <- struct{}{}
		if o := wantEnded(t, stays); o != (outcome{2, nil}) || q.left.Load() != 0 {
			t.Errorf("the answer is %v", o)
		}
	})
}

// A request that is not sent at all gets the error of the batcher.
func TestWaitAfterClose(t *testing.T) {
	runAsker(t, func(t *testing.T, a *asker) {
		a.Close()
		if o := wantEnded(t, a.ask(t.Context(), new(question), false)); o != (outcome{nil, errClosed}) {
			t.Errorf("the outcome is %v", o)
		}
	})
}

// Whenever callers leave, each gets its own answer or none, and replies that are used again bring no answer to an
// earlier request.
func TestRepliesAreUsedAgain(t *testing.T) {
	t.Parallel()
	var senders, callers sync.WaitGroup
	var left, answeredLate atomic.Int32
	b := &Batcher[*question]{MaxSenders: 2, MaxOverdue: 4, MaxBatch: 8, ErrClosed: errClosed, ErrBusy: errBusy,
		Go: senders.Go, Fail: (*question).fail}
	b.Send = func(all []*question) bool {
		time.Sleep(rand.N(20 * time.Microsecond))
		for _, q := range all {
			if !q.reply.Settle(q.number, nil) {
				answeredLate.Add(1)
			}
		}
		return true
	}
	for range 16 {
		callers.Go(func() {
			q := new(question)
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(100*time.Microsecond))
				q.number = rand.Int()
				switch answer, err := b.Wait(ctx, q, &q.reply, rand.IntN(2) == 0); {
				case err == nil && answer != q.number:
					t.Errorf("the answer to %d is %v", q.number, answer)
				case driver.IsSpent(err):
					left.Add(1)
					q = new(question)
				case err != nil && !driver.HadNoEffect(err):
					t.Error(err)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	senders.Wait()
	b.checkNothingLeft(t)
	if left.Load() != answeredLate.Load() {
		t.Errorf("%d callers have left, and %d answers came too late", left.Load(), answeredLate.Load())
	}
}
