package simulated

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Everything happens in the order of its time. What is due at the same time happens in the order in which it was
// started.
func TestRoutinesTakeTurns(t *testing.T) {
	t.Parallel()
	c := newClock()
	var passed time.Duration
	c.onAdvance = func(d time.Duration) { passed += d }
	var log strings.Builder
	say := func(text string) { fmt.Fprintf(&log, "%v %s\n", c.now, text) }
	c.Go(func() {
		say("first")
		c.Sleep(time.Second)
		say("fires")
		c.Signal("go")
		c.Signal("go")
		c.Sleep(2 * time.Second)
		say("ends")
	})
	c.Go(func() {
		say("second")
		say("got " + string(c.Await(time.Minute, "never", "go")))
		say("got " + string(c.Await(time.Minute, "go")))
		say("got nothing" + string(c.Await(time.Second, "never")))
		c.Go(func() { say("third") })
	})
	c.run()
	want := "0s first\n0s second\n1s fires\n1s got go\n1s got go\n2s got nothing\n2s third\n3s ends\n"
	if log.String() != want {
		t.Errorf("got\n%swant\n%s", log.String(), want)
	}
	if passed != 3*time.Second { // waits on which nothing depends any more take no time
		t.Errorf("%v have passed", passed)
	}
}

// A panic ends all routines, wherever they are.
func TestAPanicEndsAllRoutines(t *testing.T) {
	t.Parallel()
	c := newClock()
	c.onAdvance = func(time.Duration) {}
	ended := false
	c.Go(func() {
		defer func() { ended = true }()
		c.Await(time.Hour, "never")
	})
	c.Go(func() {
		c.Sleep(time.Second)
		panic("a mistake")
	})
	defer func() {
		if r := recover(); r != "a mistake" || !ended {
			t.Errorf("recovered %v; the other one has ended: %v", r, ended)
		}
	}()
	c.run()
}
