package redisson

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/lateness"
)

// wakes is how often it is measured how soon a step of one side lets a waiter of the other one in. The median counts.
const wakes = 5

// wakeLimit is how long that may take if the waiter is notified.
const wakeLimit = 50 * time.Millisecond

// judge returns what is wrong with how long something took: its median is above a limit. It also logs the median.
func judge(t *testing.T, what string, took []time.Duration, limit time.Duration) string {
	t.Helper()
	slices.Sort(took)
	median := took[len(took)/2].Round(100 * time.Microsecond)
	t.Logf("%-11s the waiter had it after %v, which is the median", what, median)
	if median > limit {
		return fmt.Sprintf("%s: the waiter had it after %v, which is the median of %v", what, median, took)
	}
	return ""
}

// mustWake measures how long something takes, and fails the test if the median is above a limit although the machine
// was not late.
func mustWake(t *testing.T, what string, limit time.Duration, measure func() time.Duration) {
	t.Helper()
	problem := lateness.Try(t, func() string {
		var took []time.Duration
		for range wakes {
			took = append(took, measure())
		}
		return judge(t, what, took, limit)
	})
	if problem != "" {
		t.Error(problem)
	}
}

// woken is how long a waiter may take that nobody else would let in for much longer.
const woken = 5 * time.Second

// comes waits for a value that is due within a limit, and reports whether it came. Time in which the machine was late
// does not count.
func comes[T any](t *testing.T, c <-chan T, limit time.Duration) (value T, came bool) {
	t.Helper()
	lateness.Try(t, func() string {
		select {
		case value = <-c:
			came = true
			return ""
		case <-time.After(limit):
			return fmt.Sprintf("nothing came within %v", limit)
		}
	})
	return value, came
}
