package drivertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

var leaks = []check{
	{"UseIsNoLeak", useIsNoLeak},
	{"UseLeavesNoLeak", useLeavesNoLeak},
	{"SweepOfNoLeak", sweepOfNoLeak},
	{"LeaksEndsWithItsContext", leaksEndsWithItsContext},
}

// sweeper opens an engine that finds leaks.
func (e *env) sweeper() driver.Operator {
	e.Helper()
	return e.operator("leaks: nothing is left behind that does not go away by itself", func(o driver.Operator) error {
		return o.Leaks(e.ctx, driver.Query{Name: e.prefix}, func(driver.Leak) bool { return false })
	})
}

// leaks looks for leaks under this check's names.
func (e *env) leaks(s driver.Operator) (all []driver.Leak) {
	e.Helper()
	err := s.Leaks(e.ctx, driver.Query{Prefix: e.prefix}, func(l driver.Leak) bool {
		all = append(all, l)
		return true
	})
	if err != nil {
		e.Fatalf("Leaks: %v", err)
	}
	return all
}

func (e *env) noLeaks(s driver.Operator, when string) {
	e.Helper()
	if all := e.leaks(s); len(all) != 0 {
		e.Errorf("while %s, Leaks reports %+v, want nothing", when, all)
	}
}

func useIsNoLeak(e *env) {
	s, a, b := e.sweeper(), e.open(), e.open()
	e.noLeaks(s, "nothing is held")
	r := e.lock("held")
	e.take(a, r)
	brief := e.withShortTTL(e.lock("brief"))
	e.take(a, brief)
	kept := e.lock("kept")
	e.take(a, kept)
	if err := a.Release(e.ctx, driver.Release{Hold: holdOf(kept), Keep: e.long}); err != nil {
		e.Fatalf("Release with Keep by the holder: %v", err)
	}
	if e.can.Shared {
		e.take(a, e.reader("readers"))
		e.take(b, e.reader("readers"))
		e.join(b, e.lock("readers"))
	}
	if e.can.Semaphores {
		e.take(a, e.permits("permits", 3, 2))
		e.join(b, e.permits("permits", 3, 2))
	}
	if e.hasLatches {
		l := e.latcher()
		e.mustSet(l, e.latchSet(3))
		e.countDown(l, e.latchDown(), 2)
	}
	first, second := e.join(b, e.lock("held")), e.join(a, e.lock("held"))
	e.noLeaks(s, "names are held and waited for")
	e.mustRenew(a, r, e.long)
	e.release(a, r)
	next, last := firstOf(first, second), second
	if next == second {
		last = first
	}
	next.mustBeGranted()
	e.noLeaks(s, "a lock has been handed over to a waiter")
	e.release(next.engine, next.request)
	last.mustBeGranted()
	e.noLeaks(s, "the last waiter holds")
}

func useLeavesNoLeak(e *env) {
	s, a, b := e.sweeper(), e.open(), e.open()
	e.checkFree(a, e.lock("released"))
	e.take(a, e.withShortTTL(e.lock("expired")))
	held := e.lock("given up")
	e.take(a, held)
	e.join(b, e.lock("given up")).leave()
	e.release(a, held)
	if e.can.Semaphores {
		e.take(a, e.withShortTTL(e.permits("permits", 3, 2)))
	}
	if e.hasLatches {
		set := e.latchSet(2)
		set.TTL = e.short
		e.mustSet(e.latcher(), set)
	}
	e.expireShortLeases()
	// The next client that comes by removes what has expired.
	e.checkFree(b, e.lock("expired"))
	if e.can.Semaphores {
		e.checkFree(b, e.permits("permits", 3, 2))
	}
	if e.hasLatches {
		e.mustSet(e.latcher(), e.latchSet(2))
	}
	e.noLeaks(s, "everything has been used again")
}

// sweepOfNoLeak checks that a leak that is made up, or is gone, is refused, and nobody is harmed.
func sweepOfNoLeak(e *env) {
	s, a, b := e.sweeper(), e.open(), e.open()
	r := e.lock("held")
	r.Holder = "the holder"
	g := e.take(a, r)
	w := e.join(b, e.lock("held"))
	keys := []driver.Key{r.Key, e.lock("free").Key, {}}
	marks := []string{"", "0", "1", fmt.Sprint(g.Token), r.Name, rand.Text(), r.Owner, w.request.Owner, "*", "{}",
		"a\x00b\xff", strings.Repeat("x", 2000)}
	if e.hasLatches {
		l := e.latcher()
		set := e.mustSet(l, e.latchSet(3))
		marks = append(marks, fmt.Sprint(set.Generation))
		keys = append(keys, driver.Key{Kind: driver.Latch, Name: e.latchSet(1).Name})
	}
	sorts := append(slices.Clone(driver.LeakSorts[:]), 0, 99)
	for _, k := range keys {
		for _, sort := range sorts {
			for _, mark := range marks {
				l := driver.Leak{Key: k, Sort: sort, Token: g.Token, Holder: r.Holder, Count: 1, Mark: mark}
				if err := s.Sweep(e.ctx, l); !errors.Is(err, driver.ErrNotHeld) {
					e.Errorf("Sweep of %s at %s %q with mark %q, which is no leak: %v, want ErrNotHeld", sort, k.Kind,
						k.Name, mark, err)
				}
			}
		}
	}
	e.mustRenew(a, r, e.long)
	w.checkWaiting()
	e.mustBeRefused(b, e.lock("held"))
	if e.hasLatches {
		e.countDown(e.latcher(), e.latchDown(), 2)
	}
	e.release(a, r)
	if n := w.mustBeGranted(); n.Token <= g.Token {
		e.Errorf("token %d follows %d", n.Token, g.Token)
	}
}

func leaksEndsWithItsContext(e *env) {
	s := e.sweeper()
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	if err := s.Leaks(ctx, driver.Query{Prefix: e.prefix}, func(driver.Leak) bool { return true }); err == nil {
		e.Error("Leaks with a context that has ended returned nil, as if it had searched everything")
	}
}
