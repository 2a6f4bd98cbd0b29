package schedule

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// recorder keeps what was due, and when.
type recorder struct {
	Schedule[string]
	began time.Time
	got   chan string
}

func newRecorder() *recorder {
	r := &recorder{began: time.Now(), got: make(chan string, 100)}
	r.Init(func(due []string, now driver.Instant) {
		for _, d := range due {
			r.got <- fmt.Sprintf("%s at %v", d, now.Time().Sub(r.began))
		}
	})
	return r
}

func (r *recorder) set(t *testing.T, name string, at time.Duration) *Entry[string] {
	t.Helper()
	e := &Entry[string]{Value: name}
	if !r.Set(e, at) {
		t.Error("the schedule has stopped")
	}
	return e
}

func (r *recorder) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	var got []string
	for len(r.got) > 0 {
		got = append(got, <-r.got)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEntriesAreDueInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		r.set(t, "late", 5*time.Second)
		moved := r.set(t, "moved", time.Second)
		gone := r.set(t, "gone", 2*time.Second)
		r.set(t, "early", 100*time.Millisecond)
		r.set(t, "past", -time.Second)
		r.Set(moved, 3*time.Second)
		r.Remove(gone)
		time.Sleep(time.Minute)
		r.expect(t, "past at 0s", "early at 100ms", "moved at 3s", "late at 5s")
		if at := r.At(driver.Now()); at != time.Minute || r.Now() != at {
			t.Errorf("the clock says %v and %v", at, r.Now())
		}
		r.Set(gone, time.Minute+time.Second)
		time.Sleep(time.Hour)
		r.expect(t, "gone at 1m1s")
	})
}

// An entry that is set again while it is due is due again.
func TestOnDueMaySetItsEntryAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Schedule[int]
		e := &Entry[int]{}
		n := 0
		s.Init(func([]int, driver.Instant) {
			if n++; n < 5 {
				s.Set(e, s.Now()+time.Minute)
			}
		})
		s.Set(e, 0)
		time.Sleep(time.Hour)
		s.Stop()
		s.Wait()
		if n != 5 {
			t.Errorf("due %d times", n)
		}
	})
}

func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		finish := make(chan struct{})
		if !r.Go(func() { <-finish }) {
			t.Error("Go refuses before Stop")
		}
		e := r.set(t, "left", time.Second)
		if left := r.Stop(); len(left) != 1 || left[0] != "left" {
			t.Errorf("Stop returned %v", left)
		}
		if r.Set(e, 0) || r.Go(func() { t.Error("runs after Stop") }) {
			t.Error("the schedule goes on after Stop")
		}
		time.AfterFunc(time.Minute, func() { close(finish) })
		began := time.Now()
		r.Wait()
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("waited %v", waited)
		}
		r.expect(t)
		r.run() // the timer had fired before Stop
		r.expect(t)
	})
}

// Wait waits for onDue, which may take long.
func TestWaitWaitsForOnDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Schedule[int]
		s.Init(func([]int, driver.Instant) { time.Sleep(time.Hour) })
		s.Set(&Entry[int]{}, 0)
		time.Sleep(time.Minute)
		began := time.Now()
		s.Stop()
		s.Wait()
		if waited := time.Since(began); waited != time.Hour-time.Minute {
			t.Errorf("waited %v", waited)
		}
	})
}

// What becomes due while onDue runs is due with the time that it is then, the soonest first; and not all at once.
func TestManyEntriesAreDueInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Schedule[int]
		began := time.Now()
		var parts []string
		s.Init(func(due []int, now driver.Instant) {
			parts = append(parts, fmt.Sprintf("%d at %v", len(due), now.Time().Sub(began)))
			if len(parts) == 1 {
				s.Set(&Entry[int]{}, time.Second+50*time.Millisecond) // sooner than the others are looked at
			}
			time.Sleep(patience / 2)
		})
		for range maxDue + 1 {
			s.Set(&Entry[int]{}, time.Second)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"1024 at 1s", "2 at 1.05s"}; !slices.Equal(parts, want) {
			t.Errorf("got %q, want %q", parts, want)
		}
	})
}

// While onDue is blocked, what becomes due is not late by more than patience.
func TestACallThatBlocksDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Schedule[int]
		began := time.Now()
		got := make(chan string, 10)
		s.Init(func(due []int, now driver.Instant) {
			for _, d := range due {
				got <- fmt.Sprintf("%d at %v", d, now.Time().Sub(began))
				if d == 1 {
					time.Sleep(time.Hour)
				}
			}
		})
		for i, at := range []time.Duration{time.Second, time.Second + time.Millisecond, 2 * time.Second} {
			s.Set(&Entry[int]{Value: i + 1}, at)
		}
		time.Sleep(time.Minute)
		for _, want := range []string{"1 at 1s", "2 at 1.1s", "3 at 2s"} {
			if g := <-got; g != want {
				t.Errorf("got %s, want %s", g, want)
			}
		}
		time.Sleep(2 * time.Hour)
		s.Set(&Entry[int]{Value: 4}, 3*time.Hour)
		time.Sleep(time.Hour)
		if g := <-got; g != "4 at 3h0m0s" {
			t.Errorf("afterwards got %s", g)
		}
	})
}
