package contended_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/internal/contended"
)

func TestNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var names contended.Names[string]
		expect := func(when, name string, want bool) {
			t.Helper()
			if got := names.Has(name); got != want {
				t.Errorf("%s: Has(%q) is %v, want %v", when, name, got, want)
			}
		}
		names.Remove("a")
		expect("the zero value", "a", false)

		names.Add("a", time.Second)
		names.Add("b", time.Minute)
		expect("added", "a", true)
		expect("added", "b", true)
		expect("added others", "c", false)

		time.Sleep(time.Second - 1)
		expect("just before its time is over", "a", true)
		time.Sleep(time.Nanosecond)
		expect("its time is over", "a", false)
		expect("its time is not over", "b", true)

		time.Sleep(time.Minute - 2*time.Second)
		names.Add("b", 3*time.Second)
		time.Sleep(3*time.Second - 1)
		expect("added again, just before the new time is over", "b", true)
		time.Sleep(time.Nanosecond)
		expect("added again, the new time is over", "b", false)

		names.Add("a", time.Second)
		names.Remove("a")
		expect("removed", "a", false)
		names.Add("a", time.Second)
		expect("added after it was removed", "a", true)
	})
}

// However many names are added, only so many are remembered, the last one always.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	var names contended.Names[int]
	const added, bound = 10_000, 4096
	for i := range added {
		names.Add(i, time.Hour)
		if !names.Has(i) {
			t.Fatalf("name %d is forgotten at once", i)
		}
	}
	remembered := 0
	for i := range added {
		if names.Has(i) {
			remembered++
		}
	}
	if remembered > bound {
		t.Errorf("%d names are remembered, want at most %d", remembered, bound)
	}
}

// The race detector sees all accesses.
func TestNamesConcurrently(t *testing.T) {
	t.Parallel()
	var names contended.Names[string]
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				names.Add("a", time.Hour)
				names.Has("a")
				names.Remove("a")
			}
		})
	}
	all.Wait()
	if names.Has("a") {
		t.Error("a name that all have removed is remembered")
	}
}
