package redisson_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// endlessLatch sets a latch without a time to live, as the library does unless it is told another.
func endlessLatch(name string, count int) driver.LatchSet {
	set := latchSet(name, count)
	set.TTL = 24 * time.Hour
	return set
}

func (p commandTest) setEndless(name string, count int) (generation uint64) {
	p.Helper()
	if set, err := p.engine.TrySet(p.Context(), endlessLatch(name, count)); !set || err != nil {
		p.Fatalf("TrySet: %v, %v", set, err)
	}
	return p.latch(name, count).Generation
}

// latchWait is a call of WaitLatch.
type latchWait struct {
	commandTest
	name string
	done chan error
}

// beginWait begins to wait, and returns when it has polled, and listens.
func (p commandTest) beginWait(name string, generation uint64) latchWait {
	w := latchWait{p, name, make(chan error, 1)}
	go func() { w.done <- p.engine.WaitLatch(p.Context(), name, generation) }()
	for p.command("PUBSUB", "NUMSUB", "redisson_countdownlatch__channel__{"+name+"}").([]any)[1] != int64(1) {
		time.Sleep(time.Millisecond)
	}
	w.poll()
	return w
}

// poll makes it poll, and returns when it has acted on the answer, which must not have ended it: then it polls again.
func (w latchWait) poll() {
	w.Helper()
	for range 2 {
		before := w.polls()
		for w.polls() == before {
			w.command("PUBLISH", "redisson_countdownlatch__channel__{"+w.name+"}", "1")
			select {
			case err := <-w.done:
				w.Fatalf("WaitLatch has returned %v", err)
			case <-time.After(time.Millisecond):
			}
		}
	}
}

var readOnlyScripts = regexp.MustCompile(`cmdstat_evalsha_ro:calls=(\d+)`)

// polls returns how many scripts that only read have run.
func (w latchWait) polls() int {
	w.Helper()
	words := readOnlyScripts.FindStringSubmatch(fmt.Sprint(w.command("INFO", "commandstats")))
	if words == nil {
		return 0
	}
	n, _ := strconv.Atoi(words[1]) // they are digits
	return n
}

// mustReturn checks that it is woken by what has just been done, and returns such an error.
func (w latchWait) mustReturn(want error) {
	w.Helper()
	select {
	case err := <-w.done:
		if !errors.Is(err, want) {
			w.Errorf("WaitLatch: %v, want %v", err, want)
		}
	case <-time.After(5 * time.Second): // before the next poll
		w.Error("WaitLatch was not woken")
	}
}

// forgetLatch lets the hash beside a latch expire.
func (p commandTest) forgetLatch(name string) {
	p.Helper()
	p.command("PEXPIRE", "leasehold_latch:{"+name+"}", "1")
	for p.command("EXISTS", "leasehold_latch:{"+name+"}") != int64(0) {
		time.Sleep(time.Millisecond)
	}
}

// As in Redisson, a latch lives until it is at zero. What only programs in Go know of it does not stay for ever, and
// lasts for a day even if one of them has a shorter time to live.
func TestLatchLivesUntilItIsAtZero(t *testing.T) {
	p := newCommandTest(t)
	p.setEndless("a", 3)
	const side = "leasehold_latch:{a}"
	const nearlyADay = int64(23 * time.Hour / time.Millisecond)
	check := func(left int) {
		t.Helper()
		p.expect(int64(-1), "PTTL", "a")
		if ttl := p.command("PTTL", side).(int64); ttl < nearlyADay {
			t.Errorf("what is known of the latch lasts for %d ms, want a day", ttl)
		}
		if st := p.latch("a", left); st.TTL != driver.NoTTL {
			t.Errorf("the latch is %+v, want no end", st)
		}
	}
	check(3)
	p.countDown("a", 2) // by one whose latches have a time to live of a minute
	check(2)
	p.countDownInJava("a")
	check(1)
	p.countDown("a", 0)
	p.expect(int64(0), "EXISTS", "a")
	p.countDown("a", 0)
	if ttl := p.command("PTTL", side).(int64); ttl < nearlyADay {
		t.Errorf("the latch at zero is known for %d ms, want a day", ttl)
	}
}

// When what is known of a latch has expired, who waits in Go waits on as those in Java do: until the count is at zero,
// and no longer.
func TestWaitForALatchOfWhichNothingIsKnownAnyMore(t *testing.T) {
	p := newCommandTest(t)
	first := p.setEndless("a", 2)
	w := p.beginWait("a", first)
	p.forgetLatch("a")
	w.poll()
	if st := p.latch("a", 2); st.Generation != 0 || st.TTL != driver.NoTTL {
		t.Errorf("the latch is %+v, want generation 0 without an end", st)
	}
	if set, err := p.engine.TrySet(t.Context(), endlessLatch("a", 5)); set || err != nil {
		t.Errorf("TrySet of a latch that is not at zero: %v, %v", set, err)
	}
	late := p.beginWait("a", 0)
	p.countDownInJava("a")
	w.poll()
	p.countDownInJava("a")
	w.mustReturn(nil)
	late.mustReturn(nil)
	if st, err := p.engine.LatchState(t.Context(), "a"); !errors.Is(err, driver.ErrNotSet) {
		t.Errorf("a latch of which nobody knows any more is %+v, %v; want ErrNotSet", st, err)
	}
	if second := p.setEndless("a", 1); second <= first {
		t.Errorf("generation %d follows %d", second, first)
	}
}

// A count-down in Go knows the latch again, but not its generation.
func TestCountDownOfALatchOfWhichNothingIsKnownAnyMore(t *testing.T) {
	p := newCommandTest(t)
	w := p.beginWait("a", p.setEndless("a", 3))
	p.forgetLatch("a")
	d := latchDown("a")
	for range 2 {
		if st, err := p.engine.CountDown(t.Context(), d); st.Count != 2 || err != nil {
			t.Fatalf("CountDown: %+v, %v, want 2 left", st, err)
		}
	}
	w.poll()
	p.expect(int64(-1), "PTTL", "a")
	p.countDownInJava("a")
	p.countDown("a", 0)
	w.mustReturn(nil)
	p.latch("a", 0) // it is remembered
}

// A waiter that missed that the latch was at zero returns when the latch is set again.
func TestALatchOfWhichNothingIsKnownAnyMoreIsSetAnew(t *testing.T) {
	p := newCommandTest(t)
	first := p.setEndless("a", 1)
	w := p.beginWait("a", first)
	p.forgetLatch("a")
	w.poll()
	p.command("DEL", "a")                                // without a message
	if second := p.setEndless("a", 1); second <= first { // which sends a message
		t.Errorf("generation %d follows %d", second, first)
	}
	w.mustReturn(nil)
}

// A latch that is gone together with what was known of it has not come down to zero, as far as anybody knows: the
// server may have lost its data, or its time to live has passed.
func TestWaitForALatchThatIsLost(t *testing.T) {
	t.Run("WithAllData", func(t *testing.T) {
		p := newCommandTest(t)
		w := p.beginWait("a", p.setEndless("a", 2))
		p.command("FLUSHALL")
		p.command("PUBLISH", "redisson_countdownlatch__channel__{a}", "0")
		w.mustReturn(driver.ErrNotSet)
	})
	t.Run("AfterItsTimeToLive", func(t *testing.T) {
		p := newCommandTest(t)
		w := p.beginWait("a", p.set("a", 2))
		p.forgetLatch("a")
		late := p.beginWait("a", 0)
		w.poll()
		p.command("PEXPIRE", "a", "1")
		for p.command("EXISTS", "a") != int64(0) {
			time.Sleep(time.Millisecond)
		}
		p.command("PUBLISH", "redisson_countdownlatch__channel__{a}", "0")
		w.mustReturn(driver.ErrNotSet)
		late.mustReturn(driver.ErrNotSet)
	})
}

// A latch without an end that Java sets anew looks as before. Nobody passes early, and all pass at zero.
func TestJavaSetsALatchWithoutAnEndAnew(t *testing.T) {
	p := newCommandTest(t)
	first := p.setEndless("a", 1)
	p.countDownInJava("a")
	p.command("SET", "a", "2")
	w := p.beginWait("a", p.latch("a", 2).Generation)
	p.countDown("a", 1)
	w.poll()
	p.forgetLatch("a")
	w.poll()
	p.countDownInJava("a")
	w.mustReturn(nil)
	if next := p.setEndless("a", 1); next <= first {
		t.Errorf("generation %d follows %d", next, first)
	}
}
