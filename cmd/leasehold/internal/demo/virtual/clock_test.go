package virtual

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Everything happens in the order of its time, and what is due at the same time in the order in which it was begun.
func TestActorsTakeTurns(t *testing.T) {
	t.Parallel()
	c := newClock()
	var passed time.Duration
	c.passes = func(d time.Duration) { passed += d }
	var log strings.Builder
	say := func(text string) { fmt.Fprintf(&log, "%v %s\n", c.now, text) }
	c.Go(func() {
		say("first")
		c.Sleep(time.Second)
		say("fires")
		c.Fire("go")
		c.Fire("go")
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
	if passed != 3*time.Second { // the waits that nothing depends on any more take no time
		t.Errorf("%v have passed", passed)
	}
}

// A play that panics ends all actors, wherever they are.
func TestPanicEndsAllActors(t *testing.T) {
	t.Parallel()
	c := newClock()
	c.passes = func(time.Duration) {}
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
