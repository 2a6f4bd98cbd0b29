package redis_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// operationTest is one use of an operation on a name of its own, by an engine that suffers a fault. Another engine does
// not.
type operationTest struct {
	t               *testing.T
	s               *redisserver.Server
	name            string
	faulty, healthy *redis.Engine
	startFault      func() // starts the fault
	endFault        func() // ends the fault

	mine, other  driver.Request
	otherGranted <-chan grant // of other
	token        uint64       // of mine
	generation   uint64
}

// isHeld reports whether the server has a request as a holder.
func (x *operationTest) isHeld(r driver.Request) bool {
	return renewOne(x.t.Context(), x.healthy, hold(r), time.Millisecond) == nil
}

// operation sends at least one script.
type operation struct {
	name    string
	prepare func(x *operationTest)
	run     func(x *operationTest, e *redis.Engine) error
	// refusals are the errors that are correct answers.
	refusals []error
	// isDone reports whether the server has done it. It has not, after prepare.
	isDone func(x *operationTest) bool
	// repeats is set if the engine asks again by itself, because the operation changes nothing.
	repeats bool
	// cleanUp undoes everything. By then, the operation was done at least once.
	cleanUp func(x *operationTest)
}

func takeMine(x *operationTest, e *redis.Engine) error {
	_, err := e.Take(x.t.Context(), x.mine)
	return err
}

func releaseMine(x *operationTest, e *redis.Engine) error {
	return e.Release(x.t.Context(), driver.Release{Hold: hold(x.mine)})
}

func holdMine(x *operationTest)  { x.token = mustTake(x.t, x.healthy, x.mine).Token }
func holdOther(x *operationTest) { mustTake(x.t, x.healthy, x.other) }
func queueOther(x *operationTest) {
	holdMine(x)
	x.other = mustJoin(x.t, x.healthy, x.other)
	x.otherGranted = startWait(x.t, x.healthy, x.other)
}

func mineIsHeld(x *operationTest) bool    { return x.isHeld(x.mine) }
func mineIsNotHeld(x *operationTest) bool { return !x.isHeld(x.mine) }
func mineWaits(x *operationTest) bool {
	return status(x.t, x.healthy, x.mine.Key).Waiting == 1
}

func leaseIsLong(x *operationTest) bool {
	key := "lock:" + x.name
	if x.mine.Kind == driver.Semaphore {
		key = "{lock:" + x.name + "}:permits"
	}
	return command(x.t, x.s, "PTTL", key).(int64) > time.Minute.Milliseconds()
}

// operations cover each script, in all of its ways.
var operations = []operation{
	{name: "take what is free", run: takeMine, isDone: mineIsHeld},
	{name: "take again", prepare: func(x *operationTest) { holdMine(x); x.mine.TTL = 2 * time.Minute },
		run: func(x *operationTest, e *redis.Engine) error {
			g, err := e.Take(x.t.Context(), x.mine)
			if err == nil && g.Token != x.token {
				x.t.Errorf("the token is %d, was %d", g.Token, x.token)
			}
			return err
		}, isDone: leaseIsLong},
	{name: "take what is held", prepare: holdOther, run: takeMine, refusals: []error{driver.ErrHeld}},
	{name: "take to read", prepare: func(x *operationTest) { x.mine.Mode = driver.Shared }, run: takeMine,
		isDone: mineIsHeld},
	{
		name:    "take all",
		prepare: func(x *operationTest) { x.other.Name += "2>" },
		run: func(x *operationTest, e *redis.Engine) error {
			_, err := e.TakeAll(x.t.Context(), []driver.Request{x.mine, x.other})
			return err
		},
		isDone: func(x *operationTest) bool { return x.isHeld(x.mine) && x.isHeld(x.other) },
	},
	{name: "take a permit", prepare: func(x *operationTest) { x.mine = permit(x.mine) }, run: takeMine,
		isDone: mineIsHeld},
	{
		name:     "join",
		prepare:  func(x *operationTest) { holdOther(x); x.mine.Join = true },
		run:      takeMine,
		refusals: []error{driver.ErrHeld},
		isDone:   mineWaits,
		cleanUp: func(x *operationTest) {
			release(x.t, x.healthy, x.other)
			acquire(x.t.Context(), x.t, x.healthy, x.mine)
		},
	},
	{
		name: "poll",
		prepare: func(x *operationTest) {
			x.mine.Join = true
			for x.other.TTL = 100 * time.Millisecond; ; x.other.TTL *= 2 { // until the machine is fast enough
				holdOther(x)
				if takeMine(x, x.faulty) != nil {
					return
				}
				release(x.t, x.faulty, x.mine)
			}
		},
		run: func(x *operationTest, e *redis.Engine) error {
			if e == x.healthy {
				return takeMine(x, e)
			}
			_, err := e.Wait(x.t.Context(), x.mine)
			return err
		},
		isDone: mineIsHeld,
	},
	{name: "release", prepare: holdMine, run: releaseMine, isDone: mineIsNotHeld},
	{name: "release what others wait for", prepare: queueOther, run: releaseMine, isDone: mineIsNotHeld},
	{
		name:     "leave the queue",
		prepare:  func(x *operationTest) { holdOther(x); x.mine = mustJoin(x.t, x.healthy, x.mine) },
		run:      releaseMine,
		refusals: []error{driver.ErrNotHeld},
		isDone:   func(x *operationTest) bool { return !mineWaits(x) },
	},
	{name: "release a permit", prepare: func(x *operationTest) { x.mine = permit(x.mine); holdMine(x) },
		run: releaseMine, isDone: mineIsNotHeld},
	{
		name:    "release later",
		prepare: holdMine,
		run: func(x *operationTest, e *redis.Engine) error {
			return e.Release(x.t.Context(), driver.Release{Hold: hold(x.mine), Keep: 100 * time.Millisecond})
		},
		isDone: mineIsNotHeld,
		cleanUp: func(x *operationTest) {
			eventually(x.t, "it is free", func() bool { return len(status(x.t, x.healthy, x.mine.Key).Holders) == 0 })
		},
	},
	{name: "renew", prepare: holdMine, run: renewLong, isDone: leaseIsLong},
	{name: "renew to read", prepare: func(x *operationTest) { x.mine.Mode = driver.Shared; holdMine(x) },
		run: renewLong, isDone: leaseIsLong},
	{name: "renew a permit", prepare: func(x *operationTest) { x.mine = permit(x.mine); holdMine(x) }, run: renewLong,
		isDone: leaseIsLong},
	{
		name: "renew after a downgrade",
		prepare: func(x *operationTest) {
			holdMine(x)
			if err := x.healthy.Downgrade(x.t.Context(), hold(x.mine)); err != nil {
				x.t.Fatal(err)
			}
		},
		run: renewLong, isDone: leaseIsLong,
	},
	{
		name:    "downgrade",
		prepare: holdMine,
		run:     func(x *operationTest, e *redis.Engine) error { return e.Downgrade(x.t.Context(), hold(x.mine)) },
		isDone: func(x *operationTest) bool {
			st := status(x.t, x.healthy, x.mine.Key)
			return len(st.Holders) == 1 && st.Holders[0].Mode == driver.Shared
		},
	},
	{
		name:    "force",
		prepare: queueOther,
		run: func(x *operationTest, e *redis.Engine) error {
			return e.ForceRelease(x.t.Context(), x.mine.Key, x.token)
		},
		isDone: mineIsNotHeld,
	},
	{
		name: "set a latch",
		run:  setLatch,
		isDone: func(x *operationTest) bool {
			st, err := x.healthy.LatchState(x.t.Context(), x.name)
			return err == nil && st.Count == 2
		},
	},
	{
		name:    "count down",
		prepare: prepareLatch,
		run: func(x *operationTest, e *redis.Engine) error {
			st, err := e.CountDown(x.t.Context(), driver.LatchDown{Name: x.name, ID: "down", TTL: latchTTL})
			if err == nil && st.Count != 1 {
				x.t.Errorf("%d are left of 2 after one CountDown", st.Count)
			}
			return err
		},
		isDone: func(x *operationTest) bool {
			st, err := x.healthy.LatchState(x.t.Context(), x.name)
			return err == nil && st.Count == 1
		},
	},
	{
		name:    "read a latch",
		prepare: prepareLatch,
		run: func(x *operationTest, e *redis.Engine) error {
			st, err := e.LatchState(x.t.Context(), x.name)
			if err == nil && st.Count != 2 {
				x.t.Errorf("the latch is at %d, want 2", st.Count)
			}
			return err
		},
	},
	{
		name: "wait for a latch",
		prepare: func(x *operationTest) {
			prepareLatch(x)
			for _, id := range []string{"a", "b"} {
				down := driver.LatchDown{Name: x.name, ID: id, TTL: latchTTL}
				if _, err := x.healthy.CountDown(x.t.Context(), down); err != nil {
					x.t.Fatal(err)
				}
			}
		},
		run: func(x *operationTest, e *redis.Engine) error { return e.WaitLatch(x.t.Context(), x.name, x.generation) },
	},
	{
		name:    "list",
		repeats: true,
		prepare: holdMine,
		run: func(x *operationTest, e *redis.Engine) error {
			found, err := e.List(x.t.Context(), driver.Query{Name: x.name})
			if err == nil && (len(found) != 1 || found[0].Holders[0].Token != x.token) {
				x.t.Errorf("List: %+v", found)
			}
			return err
		},
	},
}

// latchTTL is the ttl of latches, which nobody removes.
const latchTTL = 2 * time.Second

func setLatch(x *operationTest, e *redis.Engine) error {
	did, err := e.TrySet(x.t.Context(), driver.LatchSet{Name: x.name, ID: "set", Count: 2, TTL: latchTTL})
	if err == nil && !did {
		x.t.Error("the latch was set by another")
	}
	return err
}

func prepareLatch(x *operationTest) {
	if err := setLatch(x, x.healthy); err != nil {
		x.t.Fatal(err)
	}
	st, err := x.healthy.LatchState(x.t.Context(), x.name)
	if err != nil {
		x.t.Fatal(err)
	}
	x.generation = st.Generation
}

func renewLong(x *operationTest, e *redis.Engine) error {
	return renewOne(x.t.Context(), e, hold(x.mine), 2*time.Minute)
}

// check performs an operation on the engine with the fault, and then again on the other one. It returns the first
// outcome, which it has checked.
func (op operation) check(x *operationTest) error {
	t := x.t
	x.mine, x.other = lasting(x.name, 30*time.Second), lasting(x.name, 30*time.Second)
	if op.prepare != nil {
		op.prepare(x)
	}
	isNo := func(err error) bool {
		return slices.ContainsFunc(op.refusals, func(no error) bool { return errors.Is(err, no) })
	}
	x.startFault()
	err := op.run(x, x.faulty)
	x.endFault()
	done := op.isDone == nil || op.isDone(x)
	switch {
	case err == nil && len(op.refusals) > 0:
		t.Errorf("%s says yes, want %v", x.name, op.refusals)
	case (err == nil || isNo(err)) && !done:
		t.Errorf("%s says %v, but has not been done", x.name, err)
	case driver.IsNo(err) && !isNo(err):
		t.Errorf("%s says %v", x.name, err)
	case op.isDone != nil && done && !driver.IsNo(err) && driver.HadNoEffect(err):
		t.Errorf("%s says that it had no effect, but has been done: %v", x.name, err)
	}
	again := op.run(x, x.healthy)
	if over := driver.IsNo(again) && done; (again != nil || len(op.refusals) > 0) && !isNo(again) && !over {
		t.Errorf("%s, again: %v", x.name, again)
	}
	if op.isDone != nil && !op.isDone(x) {
		t.Errorf("%s, again: %v, but has not been done", x.name, again)
	}
	if op.cleanUp != nil {
		op.cleanUp(x)
	}
	if x.otherGranted != nil {
		granted(t, x.otherGranted)
	}
	for _, e := range []*redis.Engine{x.faulty, x.healthy} {
		for _, r := range []driver.Request{x.mine, x.other} {
			if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil && !driver.IsNo(err) {
				t.Errorf("%s, at the end: %v", x.name, err)
			}
		}
	}
	if keys := keysWith(t, x.s, "string.find(key, '"+x.name+"', 1, true) and not string.find(key, ':token$') and not "+
		"string.find(key, ':latch$')"); len(keys) > 0 {
		t.Errorf("%s leaves behind: %q", x.name, keys)
	}
	return err
}
