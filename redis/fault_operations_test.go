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

// scene is one use of an operation, on a name of its own: by an engine that something happens to, with one to which nothing
// does beside it.
type scene struct {
	t          *testing.T
	s          *redisserver.Server
	name       string
	on, beside *redis.Engine
	happens    func() // makes it happen
	over       func() // ends it

	mine, other driver.Request
	got         <-chan grant // what other waits for
	token       uint64       // of mine
	generation  uint64
}

// holds reports whether the server has a request as a holder.
func (x *scene) holds(r driver.Request) bool {
	return renews(x.t.Context(), x.beside, hold(r), time.Millisecond) == nil
}

// operation is something that sends scripts.
type operation struct {
	name    string
	prepare func(x *scene)
	do      func(x *scene, e *redis.Engine) error
	// no are the answers that mean no, and are right.
	no []error
	// done reports whether the server has done it. It is not, after prepare.
	done func(x *scene) bool
	// again: it asks again by itself, as it changes nothing.
	again bool
	// afterwards undoes everything. It has been done at least once by then.
	afterwards func(x *scene)
}

func take(x *scene, e *redis.Engine) error {
	_, err := e.Take(x.t.Context(), x.mine)
	return err
}

func letGo(x *scene, e *redis.Engine) error {
	return e.Release(x.t.Context(), driver.Release{Hold: hold(x.mine)})
}

func iTake(x *scene)      { x.token = takes(x.t, x.beside, x.mine).Token }
func otherTakes(x *scene) { takes(x.t, x.beside, x.other) }
func otherWaits(x *scene) {
	iTake(x)
	x.other = joins(x.t, x.beside, x.other)
	x.got = waits(x.t, x.beside, x.other)
}

func iHold(x *scene) bool      { return x.holds(x.mine) }
func iDoNotHold(x *scene) bool { return !x.holds(x.mine) }
func iWait(x *scene) bool {
	return status(x.t, x.beside, x.mine.Key).Waiting == 1
}

func isLong(x *scene) bool {
	key := "lock:" + x.name
	if x.mine.Kind == driver.Semaphore {
		key = "{lock:" + x.name + "}:permits"
	}
	return command(x.t, x.s, "PTTL", key).(int64) > time.Minute.Milliseconds()
}

// operations are those that send each script, and each in all its ways.
var operations = []operation{
	{name: "take what is free", do: take, done: iHold},
	{name: "take again", prepare: func(x *scene) { iTake(x); x.mine.TTL = 2 * time.Minute }, do: func(x *scene, e *redis.Engine) error {
		g, err := e.Take(x.t.Context(), x.mine)
		if err == nil && g.Token != x.token {
			x.t.Errorf("the token is %d, was %d", g.Token, x.token)
		}
		return err
	}, done: isLong},
	{name: "take what is held", prepare: otherTakes, do: take, no: []error{driver.ErrHeld}},
	{name: "take to read", prepare: func(x *scene) { x.mine.Mode = driver.Shared }, do: take, done: iHold},
	{
		name:    "take all",
		prepare: func(x *scene) { x.other.Name += "2>" },
		do: func(x *scene, e *redis.Engine) error {
			_, err := e.TakeAll(x.t.Context(), []driver.Request{x.mine, x.other})
			return err
		},
		done: func(x *scene) bool { return x.holds(x.mine) && x.holds(x.other) },
	},
	{name: "take a permit", prepare: func(x *scene) { x.mine = permit(x.mine) }, do: take, done: iHold},
	{
		name:       "join",
		prepare:    func(x *scene) { otherTakes(x); x.mine.Join = true },
		do:         take,
		no:         []error{driver.ErrHeld},
		done:       iWait,
		afterwards: func(x *scene) { release(x.t, x.beside, x.other); acquire(x.t.Context(), x.t, x.beside, x.mine) },
	},
	{
		name: "look",
		prepare: func(x *scene) {
			x.mine.Join = true
			for x.other.TTL = 100 * time.Millisecond; ; x.other.TTL *= 2 { // until the machine is quick enough
				otherTakes(x)
				if take(x, x.on) != nil {
					return
				}
				release(x.t, x.on, x.mine)
			}
		},
		do: func(x *scene, e *redis.Engine) error {
			if e == x.beside {
				return take(x, e)
			}
			_, err := e.Wait(x.t.Context(), x.mine)
			return err
		},
		done: iHold,
	},
	{name: "release", prepare: iTake, do: letGo, done: iDoNotHold},
	{name: "release what others wait for", prepare: otherWaits, do: letGo, done: iDoNotHold},
	{
		name:    "leave the queue",
		prepare: func(x *scene) { otherTakes(x); x.mine = joins(x.t, x.beside, x.mine) },
		do:      letGo,
		no:      []error{driver.ErrNotHeld},
		done:    func(x *scene) bool { return !iWait(x) },
	},
	{name: "release a permit", prepare: func(x *scene) { x.mine = permit(x.mine); iTake(x) }, do: letGo, done: iDoNotHold},
	{
		name:    "release later",
		prepare: iTake,
		do: func(x *scene, e *redis.Engine) error {
			return e.Release(x.t.Context(), driver.Release{Hold: hold(x.mine), Keep: 100 * time.Millisecond})
		},
		done: iDoNotHold,
		afterwards: func(x *scene) {
			eventually(x.t, "it is free", func() bool { return len(status(x.t, x.beside, x.mine.Key).Holders) == 0 })
		},
	},
	{name: "renew", prepare: iTake, do: renewLong, done: isLong},
	{name: "renew to read", prepare: func(x *scene) { x.mine.Mode = driver.Shared; iTake(x) }, do: renewLong, done: isLong},
	{name: "renew a permit", prepare: func(x *scene) { x.mine = permit(x.mine); iTake(x) }, do: renewLong, done: isLong},
	{
		name: "renew after a downgrade",
		prepare: func(x *scene) {
			iTake(x)
			if err := x.beside.Downgrade(x.t.Context(), hold(x.mine)); err != nil {
				x.t.Fatal(err)
			}
		},
		do: renewLong, done: isLong,
	},
	{
		name:    "downgrade",
		prepare: iTake,
		do:      func(x *scene, e *redis.Engine) error { return e.Downgrade(x.t.Context(), hold(x.mine)) },
		done: func(x *scene) bool {
			st := status(x.t, x.beside, x.mine.Key)
			return len(st.Holders) == 1 && st.Holders[0].Mode == driver.Shared
		},
	},
	{
		name:    "force",
		prepare: otherWaits,
		do: func(x *scene, e *redis.Engine) error {
			return e.ForceRelease(x.t.Context(), x.mine.Key, x.token)
		},
		done: iDoNotHold,
	},
	{
		name: "set a latch",
		do:   setLatch,
		done: func(x *scene) bool {
			st, err := x.beside.LatchState(x.t.Context(), x.name)
			return err == nil && st.Count == 2
		},
	},
	{
		name:    "count down",
		prepare: latchIsSet,
		do: func(x *scene, e *redis.Engine) error {
			st, err := e.CountDown(x.t.Context(), driver.LatchDown{Name: x.name, ID: "down", TTL: latchTTL})
			if err == nil && st.Count != 1 {
				x.t.Errorf("%d are left of 2 after one CountDown", st.Count)
			}
			return err
		},
		done: func(x *scene) bool {
			st, err := x.beside.LatchState(x.t.Context(), x.name)
			return err == nil && st.Count == 1
		},
	},
	{
		name:    "look at a latch",
		prepare: latchIsSet,
		do: func(x *scene, e *redis.Engine) error {
			st, err := e.LatchState(x.t.Context(), x.name)
			if err == nil && st.Count != 2 {
				x.t.Errorf("the latch is at %d, want 2", st.Count)
			}
			return err
		},
	},
	{
		name: "wait for a latch",
		prepare: func(x *scene) {
			latchIsSet(x)
			for _, id := range []string{"a", "b"} {
				if _, err := x.beside.CountDown(x.t.Context(), driver.LatchDown{Name: x.name, ID: id, TTL: latchTTL}); err != nil {
					x.t.Fatal(err)
				}
			}
		},
		do: func(x *scene, e *redis.Engine) error { return e.WaitLatch(x.t.Context(), x.name, x.generation) },
	},
	{
		name:    "list",
		again:   true,
		prepare: iTake,
		do: func(x *scene, e *redis.Engine) error {
			found, err := e.List(x.t.Context(), driver.Query{Name: x.name})
			if err == nil && (len(found) != 1 || found[0].Holders[0].Token != x.token) {
				x.t.Errorf("List: %+v", found)
			}
			return err
		},
	},
}

// latchTTL is how long latches last, which nobody removes.
const latchTTL = 2 * time.Second

func setLatch(x *scene, e *redis.Engine) error {
	did, err := e.TrySet(x.t.Context(), driver.LatchSet{Name: x.name, ID: "set", Count: 2, TTL: latchTTL})
	if err == nil && !did {
		x.t.Error("the latch was set by another")
	}
	return err
}

func latchIsSet(x *scene) {
	if err := setLatch(x, x.beside); err != nil {
		x.t.Fatal(err)
	}
	st, err := x.beside.LatchState(x.t.Context(), x.name)
	if err != nil {
		x.t.Fatal(err)
	}
	x.generation = st.Generation
}

func renewLong(x *scene, e *redis.Engine) error {
	return renews(x.t.Context(), e, hold(x.mine), 2*time.Minute)
}

// play plays an operation: on one engine, to which something happens, and then again on the other. It returns the first
// outcome, of which it has checked that it is true.
func (op operation) play(x *scene) error {
	t := x.t
	x.mine, x.other = lasting(x.name, 30*time.Second), lasting(x.name, 30*time.Second)
	if op.prepare != nil {
		op.prepare(x)
	}
	isNo := func(err error) bool {
		return slices.ContainsFunc(op.no, func(no error) bool { return errors.Is(err, no) })
	}
	x.happens()
	err := op.do(x, x.on)
	x.over()
	done := op.done == nil || op.done(x)
	switch {
	case err == nil && len(op.no) > 0:
		t.Errorf("%s says yes, want %v", x.name, op.no)
	case (err == nil || isNo(err)) && !done:
		t.Errorf("%s says %v, but has not been done", x.name, err)
	case driver.IsNo(err) && !isNo(err):
		t.Errorf("%s says %v", x.name, err)
	case op.done != nil && done && !driver.IsNo(err) && driver.HadNoEffect(err):
		t.Errorf("%s says that it had no effect, but has been done: %v", x.name, err)
	}
	again := op.do(x, x.beside)
	if over := driver.IsNo(again) && done; (again != nil || len(op.no) > 0) && !isNo(again) && !over {
		t.Errorf("%s, again: %v", x.name, again)
	}
	if op.done != nil && !op.done(x) {
		t.Errorf("%s, again: %v, but has not been done", x.name, again)
	}
	if op.afterwards != nil {
		op.afterwards(x)
	}
	if x.got != nil {
		granted(t, x.got)
	}
	for _, e := range []*redis.Engine{x.on, x.beside} {
		for _, r := range []driver.Request{x.mine, x.other} {
			if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil && !driver.IsNo(err) {
				t.Errorf("%s, at the end: %v", x.name, err)
			}
		}
	}
	if keys := keysWith(t, x.s, "string.find(key, '"+x.name+"', 1, true) and not string.find(key, ':token$') and not string.find(key, ':latch$')"); len(keys) > 0 {
		t.Errorf("%s leaves behind: %q", x.name, keys)
	}
	return err
}
