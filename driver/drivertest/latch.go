package drivertest

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

var latch = []check{
	{"CountsDownToZero", countsDownToZero},
	{"SetOnce", setOnce},
	{"SetAnewAtZero", setAnewAtZero},
	{"RepeatedRequestsCountOnce", repeatedRequestsCountOnce},
	{"NotSet", notSet},
	{"LatchExpires", latchExpires},
	{"CountDownKeepsItSet", countDownKeepsItSet},
	{"ZeroWakesAllWaiters", zeroWakesAllWaiters},
	{"WaitAtZero", waitAtZero},
	{"WaitForAnOldGeneration", waitForAnOldGeneration},
	{"WaitEndsWhenItExpires", waitEndsWhenItExpires},
	{"WaitLatchEndsWithItsContext", waitLatchEndsWithItsContext},
}

// latcher opens an engine as a Latcher.
func (e *env) latcher() driver.Latcher {
	e.Helper()
	e.needs(e.hasLatches, "latches")
	return e.open().(driver.Latcher)
}

func (e *env) latchSet(count int) driver.LatchSet {
	return driver.LatchSet{Name: e.prefix + "latch", ID: rand.Text(), Count: count, TTL: e.long}
}

func (e *env) latchDown() driver.LatchDown {
	return driver.LatchDown{Name: e.prefix + "latch", ID: rand.Text(), TTL: e.long}
}

// mustSet sets a latch that is not set.
func (e *env) mustSet(l driver.Latcher, s driver.LatchSet) driver.LatchState {
	e.Helper()
	set, err := l.TrySet(e.ctx, s)
	if !set || err != nil {
		e.Fatalf("TrySet: %v, %v; want true", set, err)
	}
	st, err := l.LatchState(e.ctx, s.Name)
	if err != nil {
		e.Fatalf("LatchState after TrySet: %v", err)
	}
	return st
}

// mustNotSet tries to set a latch whose count is not zero.
func (e *env) mustNotSet(l driver.Latcher, s driver.LatchSet) {
	e.Helper()
	if set, err := l.TrySet(e.ctx, s); set || err != nil {
		e.Errorf("TrySet of a latch whose count is not zero: %v, %v; want false", set, err)
	}
}

// countDown counts down, and checks the count that is left.
func (e *env) countDown(l driver.Latcher, d driver.LatchDown, left int) driver.LatchState {
	e.Helper()
	st, err := l.CountDown(e.ctx, d)
	if err != nil {
		e.Fatalf("CountDown: %v", err)
	}
	if st.Count != left {
		e.Fatalf("CountDown answered %d, want %d", st.Count, left)
	}
	return st
}

// waitLatch waits in a goroutine, as wait does.
func (e *env) waitLatch(ctx context.Context, l driver.Latcher, generation uint64) <-chan error {
	done := make(chan error, 1)
	go func() { done <- l.WaitLatch(ctx, e.prefix+"latch", generation) }()
	e.pause(timeToFallAsleep)
	return done
}

// awaitAnswer returns the result of a waitLatch.
func (e *env) awaitAnswer(done <-chan error) error {
	e.Helper()
	var err error
	e.eventually("WaitLatch returns", func() bool {
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	return err
}

func countsDownToZero(e *env) {
	a, b := e.latcher(), e.latcher()
	set := e.mustSet(a, e.latchSet(3))
	if set.Count != 3 || set.TTL <= 0 || set.TTL > e.long {
		e.Errorf("a latch set to 3 for %v is %+v", e.long, set)
	}
	e.countDown(a, e.latchDown(), 2)
	e.countDown(b, e.latchDown(), 1)
	e.countDown(a, e.latchDown(), 0)
	e.countDown(b, e.latchDown(), 0) // not below zero
	st, err := b.LatchState(e.ctx, e.latchSet(1).Name)
	if err != nil || st.Count != 0 || st.Generation != set.Generation {
		e.Errorf("LatchState %+v, %v; want zero of generation %d", st, err, set.Generation)
	}
}

func setOnce(e *env) {
	a, b := e.latcher(), e.latcher()
	e.mustSet(a, e.latchSet(2))
	e.mustNotSet(b, e.latchSet(5))
	e.countDown(b, e.latchDown(), 1)
	e.mustNotSet(b, e.latchSet(5))
	e.countDown(a, e.latchDown(), 0)
}

func setAnewAtZero(e *env) {
	a, b := e.latcher(), e.latcher()
	first := e.mustSet(a, e.latchSet(1))
	e.countDown(a, e.latchDown(), 0)
	second := e.mustSet(b, e.latchSet(2))
	if second.Generation <= first.Generation || second.Count != 2 {
		e.Errorf("a latch set anew is %+v, after generation %d", second, first.Generation)
	}
	e.countDown(a, e.latchDown(), 1)
}

func repeatedRequestsCountOnce(e *env) {
	a, b := e.latcher(), e.latcher()
	s := e.latchSet(3)
	first := e.mustSet(a, s)
	d := e.latchDown()
	e.countDown(a, d, 2)
	e.countDown(b, d, 2)
	other := e.latchDown()
	e.countDown(a, other, 1)
	e.countDown(a, d, 1)
	if again := e.mustSet(b, s); again.Count != 1 || again.Generation != first.Generation {
		e.Errorf("TrySet repeated leaves %+v, want 1 of generation %d", again, first.Generation)
	}
	e.countDown(b, e.latchDown(), 0)
	if again := e.mustSet(a, s); again.Count != 0 {
		e.Errorf("TrySet repeated at zero leaves %+v, want zero", again)
	}
}

func notSet(e *env) {
	l := e.latcher()
	name := e.latchSet(1).Name
	_, state := l.LatchState(e.ctx, name)
	_, down := l.CountDown(e.ctx, e.latchDown())
	for what, err := range map[string]error{
		"LatchState": state,
		"CountDown":  down,
		"WaitLatch":  l.WaitLatch(e.ctx, name, 1),
	} {
		if !errors.Is(err, driver.ErrNotSet) {
			e.Errorf("%s of a latch that is not set: %v, want ErrNotSet", what, err)
		}
	}
}

func latchExpires(e *env) {
	a, b := e.latcher(), e.latcher()
	s := e.latchSet(2)
	s.TTL = e.short
	if set, err := a.TrySet(e.ctx, s); !set || err != nil {
		e.Fatal(set, err)
	}
	e.expireShortLeases()
	if _, err := b.CountDown(e.ctx, e.latchDown()); !errors.Is(err, driver.ErrNotSet) {
		e.Errorf("CountDown of an expired latch: %v, want ErrNotSet", err)
	}
	if _, err := b.LatchState(e.ctx, s.Name); !errors.Is(err, driver.ErrNotSet) {
		e.Errorf("LatchState of an expired latch: %v, want ErrNotSet", err)
	}
	if st := e.mustSet(b, e.latchSet(4)); st.Count != 4 {
		e.Errorf("a latch set after it expired has the count %d, want 4", st.Count)
	}
}

func countDownKeepsItSet(e *env) {
	l := e.latcher()
	s := e.latchSet(1)
	s.TTL = e.short
	if set, err := l.TrySet(e.ctx, s); !set || err != nil {
		e.Fatal(set, err)
	}
	e.countDown(l, e.latchDown(), 0)
	e.expireShortLeases()
	if st, err := l.LatchState(e.ctx, s.Name); err != nil || st.Count != 0 {
		e.Errorf("LatchState %+v, %v; want zero, for the time of the CountDown", st, err)
	}
}

func zeroWakesAllWaiters(e *env) {
	a, b := e.latcher(), e.latcher()
	st := e.mustSet(a, e.latchSet(2))
	waits := []<-chan error{
		e.waitLatch(e.ctx, a, st.Generation),
		e.waitLatch(e.ctx, b, st.Generation),
		e.waitLatch(e.ctx, b, st.Generation),
	}
	e.countDown(b, e.latchDown(), 1)
	for _, done := range waits {
		select {
		case err := <-done:
			e.Errorf("WaitLatch answered %v before the count was zero", err)
		default:
		}
	}
	e.countDown(a, e.latchDown(), 0)
	for _, done := range waits {
		if err := e.awaitAnswer(done); err != nil {
			e.Errorf("WaitLatch: %v", err)
		}
	}
}

func waitAtZero(e *env) {
	l := e.latcher()
	st := e.mustSet(l, e.latchSet(1))
	e.countDown(l, e.latchDown(), 0)
	if err := e.awaitAnswer(e.waitLatch(e.ctx, l, st.Generation)); err != nil {
		e.Errorf("WaitLatch at zero: %v", err)
	}
}

func waitForAnOldGeneration(e *env) {
	l := e.latcher()
	first := e.mustSet(l, e.latchSet(1))
	e.countDown(l, e.latchDown(), 0)
	e.mustSet(l, e.latchSet(1))
	if err := e.awaitAnswer(e.waitLatch(e.ctx, l, first.Generation)); err != nil {
		e.Errorf("WaitLatch for a generation that has come down: %v", err)
	}
}

func waitEndsWhenItExpires(e *env) {
	l := e.latcher()
	s := e.latchSet(1)
	s.TTL = e.short
	st := e.mustSet(l, s)
	done := e.waitLatch(e.ctx, l, st.Generation)
	e.expireShortLeases()
	if err := e.awaitAnswer(done); !errors.Is(err, driver.ErrNotSet) {
		e.Errorf("WaitLatch of a latch that expires: %v, want ErrNotSet", err)
	}
}

func waitLatchEndsWithItsContext(e *env) {
	l := e.latcher()
	st := e.mustSet(l, e.latchSet(1))
	ctx, cancel := context.WithCancel(e.ctx)
	done := e.waitLatch(ctx, l, st.Generation)
	cancel()
	if err := e.awaitAnswer(done); !errors.Is(err, context.Canceled) {
		e.Errorf("WaitLatch with a cancelled context: %v, want context.Canceled", err)
	}
}
