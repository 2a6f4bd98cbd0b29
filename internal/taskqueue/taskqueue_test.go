package taskqueue

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTasksRunInOrderAndAFewAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		var (
			q            Queue[int]
			mu           sync.Mutex
			order        []int
			running      int
			inGoroutines = func(f func()) bool { go f(); return true }
		)
		do := func(n int) {
			mu.Lock()
			order = append(order, n)
			running++
			if running > most {
				t.Errorf("%d run at once", running)
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
		}
		q.Init(most, inGoroutines, do)
		for n := range 10 {
			if !q.Add(n) {
				t.Error("the queue refuses")
			}
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.IsSorted(order) || len(order) != 10 {
			t.Errorf("the order is %v", order)
		}
		if q.running != 0 || q.waiting != nil {
			t.Errorf("%d run, %d wait", q.running, len(q.waiting))
		}
	})
}

func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var q Queue[int]
		q.Init(1, func(f func()) bool { go f(); return true }, func(int) { time.Sleep(time.Second) })
		for n := range 3 {
			q.Add(n)
		}
		if left := q.Stop(); !slices.Equal(left, []int{1, 2}) {
			t.Errorf("Stop returned %v", left)
		}
		if q.Add(3) || q.Stop() != nil {
			t.Error("a task was added after Stop")
		}
		time.Sleep(time.Minute)
	})
}

// A task that no goroutine can be started for does not count.
func TestNoGoroutineCanBeStarted(t *testing.T) {
	t.Parallel()
	var q Queue[int]
	q.Init(1, func(func()) bool { return false }, func(int) { t.Error("runs") })
	if q.Add(1) || q.running != 0 || q.Stop() != nil {
		t.Error("the task counts")
	}
}
