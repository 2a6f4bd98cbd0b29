package overdue_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/internal/overdue"
)

// log records the calls, and their times.
type log struct {
	began time.Time

	mu    sync.Mutex
	lines []string
}

func (l *log) call(due []string) {
	slices.Sort(due)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprint(time.Since(l.began).Round(10*time.Millisecond), due))
}

func (l *log) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.lines, want) {
		t.Errorf("called: %q, want %q", l.lines, want)
	}
	l.lines = nil
}

func TestDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := log{began: time.Now()}
		b := overdue.New(l.call)
		at := func(s int) time.Time { return l.began.Add(time.Duration(s) * time.Second) }
		b.Extend("a", at(5))
		b.Extend("b", at(2)) // sooner than the current timer
		b.Extend("c", at(5))
		b.Extend("d", at(3))
		b.Extend("b", at(1)) // extends nothing
		b.Set("e", at(9))
		b.Set("e", at(4))
		if !b.Remove("d") || b.Remove("d") || b.Remove("x") || b.Len() != 4 {
			t.Error("what was removed is wrong")
		}
		time.Sleep(time.Second + 500*time.Millisecond)
		l.expect(t)
		time.Sleep(10 * time.Second)
		l.expect(t, "2s [b]", "4s [e]", "5s [a c]")
		if b.Len() != 0 {
			t.Errorf("%d are left", b.Len())
		}
		b.Extend("late", at(1))
		time.Sleep(time.Second)
		l.expect(t, "11.5s [late]")
		b.Close()
	})
}

// The agenda rounds down to its tick: no call may come before its time.
func TestNotEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := make(chan time.Time, 1)
		b := overdue.New(func([]int) { called <- time.Now() })
		defer b.Close()
		time.Sleep(300 * time.Microsecond)
		due := time.Now().Add(1900 * time.Microsecond)
		b.Set(1, due)
		if came := <-called; came.Before(due) {
			t.Errorf("called %v too early", due.Sub(came))
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, finish := make(chan bool), make(chan bool)
		var called atomic.Int32
		b := overdue.New(func([]int) {
			called.Add(1)
			running <- true
			<-finish
		})
		b.Set(1, time.Now())
		<-running
		b.Set(2, time.Now()) // waits for the call to return
		b.Set(3, time.Now().Add(time.Hour))
		closed := make(chan bool)
		go func() {
			if left := b.Close(); len(left) != 2 || !slices.Contains(left, 2) || !slices.Contains(left, 3) {
				t.Errorf("%v was in it, want 2 and 3", left)
			}
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed while the function runs")
		default:
		}
		close(finish)
		<-closed
		b.Set(4, time.Now())
		if left := b.Close(); len(left) != 0 {
			t.Errorf("%v was in it after Close", left)
		}
		time.Sleep(2 * time.Hour)
		if called.Load() != 1 || b.Len() != 0 {
			t.Errorf("called %d times, %d are left", called.Load(), b.Len())
		}
	})
}
