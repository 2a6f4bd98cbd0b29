package fencing

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/leasehold-go/leasehold/fence"
)

// behindAGate is the right way to go through a gate, and likely mistakes.
var behindAGate = map[string]struct {
	right bool
	steps func(enter, read, write, leave step) []step
}{
	"inside": {true,
		func(enter, read, write, leave step) []step { return []step{enter, read, write, leave} }},
	"reading before": {false,
		func(enter, read, write, leave step) []step { return []step{read, enter, write, leave} }},
	"writing after leaving": {false,
		func(enter, read, write, leave step) []step { return []step{enter, read, leave, write} }},
}

// TestEveryOrderBehindAGate does the same with a gate, behind which the steps are parts of one
// piece of work.
func TestEveryOrderBehindAGate(t *testing.T) {
	t.Parallel()
	for name, p := range behindAGate {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				build, value := atAGate(t, p.steps)
				explore(t, effortFor(p.right), build, value).expect(t, p.right)
			})
		})
	}
}

// The orders that are not tried equal those that are.
func TestNoOrderIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, p := range behindAGate {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				build, value := atAGate(t, p.steps)
				few, every := explore(t, different, build, value), explore(t, all, build, value)
				if every.orders != 70 || every.tried != 70 || few.tried >= 70 && p.right {
					t.Errorf("%d orders, tried %d and %d", every.orders, every.tried, few.tried)
				}
				if !maps.Equal(few.traces, every.traces) {
					t.Errorf("what happens in %d orders:\n%q\nin all:\n%q", few.tried,
						slices.Sorted(maps.Keys(few.traces)), slices.Sorted(maps.Keys(every.traces)))
				}
			})
		})
	}
}

func atAGate(
	t *testing.T, steps func(enter, read, write, leave step) []step,
) (build func() [writers]*writer, value func() string) {
	var text string
	build = func() (w [writers]*writer) {
		text = ""
		gate := fence.NewGate(new(fence.Memory))
		for who := range w {
			w[who] = throughGate(t, gate, who, &text, steps)
		}
		return w
	}
	return build, func() string { return text }
}

func throughGate(
	t *testing.T, gate *fence.Gate, who int, value *string, order func(enter, read, write, leave step) []step,
) *writer {
	leave, left := make(chan struct{}), make(chan error, 1)
	var seen string
	try := waiting(func(done <-chan error) bool {
		synctest.Wait()
		return len(done) == 0
	})
	enter := func() error {
		inside := make(chan struct{})
		go func() {
			left <- gate.Do(t.Context(), "a", tokenOf(who), func(context.Context) error {
				close(inside)
				<-leave
				return nil
			})
		}()
		select {
		case <-inside:
			return nil
		case err := <-left:
			return err
		}
	}
	return &writer{
		abort: func() {},
		steps: order(
			step{raises, func() error { return try(enter) }},
			step{reads, func() error { seen = *value; return nil }},
			step{writes, func() error { *value = seen + marksOf[who]; return nil }},
			step{ends, func() error {
				close(leave)
				return <-left
			}},
		),
	}
}
