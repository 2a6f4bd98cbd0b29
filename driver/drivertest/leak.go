package drivertest

import (
	"context"
	"crypto/rand"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

var leak = []check{
	{"NoGoroutineIsLeft", noGoroutineIsLeft},
}

// noGoroutineIsLeft uses an engine in many ways, closes it, and looks for goroutines that have not
// ended. Goroutines that the engine starts inherit the label of the goroutine that uses it, so
// other tests may run at the same time.
func noGoroutineIsLeft(e *env) {
	label := rand.Text()
	pprof.Do(e.ctx, pprof.Labels("leak", label), func(context.Context) {
		e.Run("Use", func(t *testing.T) { // closes its engines at the end
			inner := *e
			inner.T = t
			inner.use()
		})
	})
	var left string
	for range 200 {
		if left = goroutines(label); left == "" {
			return
		}
		e.pause(e.patience / 200)
	}
	e.Errorf("goroutines are left after the engine was closed:\n%s", left)
}

// use does what would leave goroutines behind after a mistake: it waits, gives up, and is granted.
func (e *env) use() {
	a, b := e.open(), e.open()
	for _, name := range []string{"one", "two", "three"} {
		r := e.lock(name)
		e.take(a, r)
		first, second, third := e.join(b, e.lock(name)), e.join(a, e.lock(name)), e.join(b, e.lock(name))
		e.mustRenew(a, r, e.long)
		second.leave()
		e.list(b, driver.Query{Queue: true})
		e.release(a, r)
		next := firstOf(first, third)
		next.mustBeGranted()
		e.release(next.engine, next.request)
		first.leave()
		third.leave()
	}
	if e.hasLatches {
		l := e.latcher()
		st := e.mustSet(l, e.latchSet(1))
		ctx, cancel := context.WithCancel(e.ctx)
		done := e.waitLatch(ctx, l, st.Generation)
		cancel()
		e.awaitAnswer(done)
	}
	e.take(a, e.lock("held at the end"))
}

// goroutines returns the stacks of the goroutines with the label.
func goroutines(label string) string {
	var all strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err.Error()
	}
	var with []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, label) {
			with = append(with, stack)
		}
	}
	return strings.Join(with, "\n\n")
}
