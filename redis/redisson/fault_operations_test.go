package redisson_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// operationTest is one use of an operation on a name of its own, by an engine that suffers a fault. Another engine does
// not.
type operationTest struct {
	*testing.T
	server          *redisserver.Server
	lock            redisson.LockType
	name            string
	faulty, healthy *redisson.Engine

	mine, other driver.Request
	token       uint64 // of mine
	set         driver.LatchSet
	down        driver.LatchDown
	generation  uint64
}

func (x *operationTest) hold(r driver.Request) uint64 {
	x.Helper()
	g, err := x.healthy.Take(x.Context(), r)
	must(x.T, err)
	return g.Token
}

func renewOne(ctx context.Context, e *redisson.Engine, r driver.Request, ttl time.Duration) error {
	err := errors.New("not reported")
	e.Renew(ctx, []driver.Renewal{{Hold: holdOf(r), TTL: ttl}}, func(_ int, outcome error) { err = outcome })
	return err
}

// isHeld reports whether the server has a request as a holder.
func (x *operationTest) isHeld(r driver.Request) bool {
	return renewOne(x.Context(), x.healthy, r, time.Millisecond) == nil
}

// status is what is known about the name.
func (x *operationTest) status() (st driver.Status) {
	x.Helper()
	all, err := x.healthy.List(x.Context(), driver.Query{Kind: x.mine.Kind, Name: x.name, Queue: true})
	must(x.T, err)
	if len(all) > 0 {
		st = all[0]
	}
	return st
}

// operation sends at least one script.
type operation struct {
	only    []redisson.LockType // that can do it; none stands for all
	prepare func(x *operationTest)
	run     func(ctx context.Context, x *operationTest, e *redisson.Engine) error
	// refusals are the errors that are correct answers.
	refusals []error
	// isDone reports whether the server has done it. It has not, after prepare.
	isDone func(x *operationTest) bool
}

var (
	readWriteOnly = []redisson.LockType{redisson.ReadWrite}
	fairOnly      = []redisson.LockType{redisson.Fair}
	anyOne        = []redisson.LockType{redisson.Fenced} // the type of locks makes no difference
)

func takeMine(ctx context.Context, x *operationTest, e *redisson.Engine) error {
	g, err := e.Take(ctx, x.mine)
	if counts := x.lock != redisson.Plain && x.lock != redisson.Spin; err == nil && x.token != 0 && counts &&
		g.Token != x.token {
		x.Errorf("the token is %d, was %d", g.Token, x.token)
	}
	return err
}

func releaseMine(ctx context.Context, x *operationTest, e *redisson.Engine) error {
	return e.Release(ctx, driver.Release{Hold: holdOf(x.mine)})
}

func renewMine(ctx context.Context, x *operationTest, e *redisson.Engine) error {
	return renewOne(ctx, e, x.mine, 2*time.Minute)
}

func holdMine(x *operationTest)  { x.token = x.hold(x.mine) }
func holdOther(x *operationTest) { x.hold(x.other) }
func readMine(x *operationTest)  { x.mine.Mode = driver.Shared }
func permitsMine(x *operationTest) {
	key := permits(x.name, 3, 2)
	for _, r := range []*driver.Request{&x.mine, &x.other} {
		r.Key, r.Size, r.Weight = key.Key, key.Size, key.Weight
	}
}

func joinMine(x *operationTest) {
	holdOther(x)
	x.mine.Join = true
	if _, err := x.healthy.Take(x.Context(), x.mine); !errors.Is(err, driver.ErrHeld) {
		x.Fatalf("Take of what is held: %v", err)
	}
}

// joinBeforeOtherEnds is joinMine behind a lease that ends soon. On a busy machine it may end first; then it tries
// again.
func joinBeforeOtherEnds(x *operationTest) {
	x.mine.Join = true
	for range 20 {
		x.other.TTL = 200 * time.Millisecond
		holdOther(x)
		_, err := x.healthy.Take(x.Context(), x.mine)
		if errors.Is(err, driver.ErrHeld) {
			return
		}
		must(x.T, err)
		must(x.T, releaseMine(x.Context(), x, x.healthy))
		x.mine.Owner, x.other.Owner = rand.Text(), rand.Text()
	}
	x.Fatal("the lease of another one always ends before the name is asked for")
}

func also(all ...func(x *operationTest)) func(x *operationTest) {
	return func(x *operationTest) {
		for _, f := range all {
			f(x)
		}
	}
}

func mineIsHeld(x *operationTest) bool    { return x.isHeld(x.mine) }
func mineIsNotHeld(x *operationTest) bool { return !x.isHeld(x.mine) }
func mineWaits(x *operationTest) bool     { return x.status().Waiting == 1 }
func mineIsLong(x *operationTest) bool {
	holders := x.status().Holders
	return len(holders) == 1 && holders[0].TTL > time.Minute
}

func setLatch(ctx context.Context, x *operationTest, e *redisson.Engine) error {
	did, err := e.TrySet(ctx, x.set)
	if err == nil && !did {
		x.Error("the latch was set by another")
	}
	return err
}

func countIs(n int) func(x *operationTest) bool {
	return func(x *operationTest) bool {
		st, err := x.healthy.LatchState(x.Context(), x.name)
		return err == nil && st.Count == n
	}
}

func prepareLatch(x *operationTest) {
	must(x.T, setLatch(x.Context(), x, x.healthy))
	st, err := x.healthy.LatchState(x.Context(), x.name)
	must(x.T, err)
	x.generation = st.Generation
}

// operations cover each script, in all of its ways.
var operations = map[string]operation{
	"take what is free": {run: takeMine, isDone: mineIsHeld},
	"take again": {
		prepare: func(x *operationTest) { holdMine(x); x.mine.TTL = 2 * time.Minute },
		run:     takeMine, isDone: mineIsLong,
	},
	"take what is held": {prepare: holdOther, run: takeMine, refusals: []error{driver.ErrHeld}},
	"take to read":      {only: readWriteOnly, prepare: readMine, run: takeMine, isDone: mineIsHeld},
	"take permits":      {only: anyOne, prepare: permitsMine, run: takeMine, isDone: mineIsHeld},
	"take no permits": {only: anyOne, prepare: also(permitsMine, holdOther), run: takeMine,
		refusals: []error{driver.ErrHeld}},
	"release": {prepare: holdMine, run: releaseMine, isDone: mineIsNotHeld},
	"release by readers": {only: readWriteOnly, prepare: also(readMine, holdMine), run: releaseMine,
		isDone: mineIsNotHeld},
	"release permits": {only: anyOne, prepare: also(permitsMine, holdMine), run: releaseMine, isDone: mineIsNotHeld},
	"release later": {
		prepare: holdMine,
		run: func(ctx context.Context, x *operationTest, e *redisson.Engine) error {
			return e.Release(ctx, driver.Release{Hold: holdOf(x.mine), Keep: 100 * time.Millisecond})
		},
		isDone: mineIsNotHeld,
	},
	"join": {
		only: fairOnly, prepare: func(x *operationTest) { holdOther(x); x.mine.Join = true }, run: takeMine,
		refusals: []error{driver.ErrHeld}, isDone: mineWaits,
	},
	"leave the queue": {
		only: fairOnly, prepare: joinMine, run: releaseMine, refusals: []error{driver.ErrNotHeld},
		isDone: func(x *operationTest) bool { return !mineWaits(x) },
	},
	"poll": {
		prepare: joinBeforeOtherEnds,
		run: func(ctx context.Context, x *operationTest, e *redisson.Engine) error {
			_, err := e.Wait(ctx, x.mine)
			return err
		},
		isDone: mineIsHeld,
	},
	"renew":         {prepare: holdMine, run: renewMine, isDone: mineIsLong},
	"renew to read": {only: readWriteOnly, prepare: also(readMine, holdMine), run: renewMine, isDone: mineIsLong},
	"renew permits": {
		only: anyOne, prepare: also(permitsMine, holdMine), run: renewMine, isDone: mineIsLong,
	},
	"downgrade": {
		only: readWriteOnly, prepare: holdMine,
		run: func(ctx context.Context, x *operationTest, e *redisson.Engine) error {
			return e.Downgrade(ctx, holdOf(x.mine))
		},
		isDone: func(x *operationTest) bool {
			holders := x.status().Holders
			return len(holders) == 1 && holders[0].Mode == driver.Shared
		},
	},
	"force": {
		prepare: func(x *operationTest) { holdMine(x); x.token = x.status().Holders[0].Token },
		run:     forceMine, isDone: mineIsNotHeld,
	},
	"force permits": {only: anyOne, prepare: also(permitsMine, holdMine), run: forceMine, isDone: mineIsNotHeld},
	"set a latch":   {only: anyOne, run: setLatch, isDone: countIs(2)},
	"count down": {
		only: anyOne, prepare: prepareLatch,
		run: func(ctx context.Context, x *operationTest, e *redisson.Engine) error {
			st, err := e.CountDown(ctx, x.down)
			if err == nil && st.Count != 1 {
				x.Errorf("%d are left of 2 after one CountDown", st.Count)
			}
			return err
		},
		isDone: countIs(1),
	},
	"read a latch": {
		only: anyOne, prepare: prepareLatch,
		run: func(ctx context.Context, x *operationTest, e *redisson.Engine) error {
			_, err := e.LatchState(ctx, x.name)
			return err
		},
	},
	"wait for a latch": {
		only: anyOne, prepare: func(x *operationTest) { prepareLatch(x); x.generation-- }, // it was set anew
		run: func(ctx context.Context, x *operationTest, e *redisson.Engine) error {
			return e.WaitLatch(ctx, x.name, x.generation)
		},
	},
	"list": {
		prepare: holdMine,
		run: func(ctx context.Context, x *operationTest, e *redisson.Engine) error {
			_, err := e.List(ctx, driver.Query{Name: x.name, Queue: true})
			return err
		},
	},
}

func forceMine(ctx context.Context, x *operationTest, e *redisson.Engine) error {
	return e.ForceRelease(ctx, x.mine.Key, x.token)
}

// can reports whether engines with a type of locks can do it.
func (op operation) can(lock redisson.LockType) bool {
	return op.only == nil || slices.Contains(op.only, lock)
}

// isNo reports whether an error is a correct answer.
func (op operation) isNo(err error) bool {
	return slices.ContainsFunc(op.refusals, func(no error) bool { return errors.Is(err, no) })
}

// begin prepares the operation.
func (op operation) begin(x *operationTest) {
	x.Helper()
	for _, r := range []*driver.Request{&x.mine, &x.other} {
		*r = request(rand.Text(), x.name, driver.Exclusive)
	}
	x.set, x.down = latchSet(x.name, 2), latchDown(x.name)
	if op.prepare != nil {
		op.prepare(x)
	}
}

// check checks the outcome of the operation on the engine with the fault, and repeats it on the other one.
func (op operation) check(x *operationTest, err error) {
	x.Helper()
	done := op.isDone == nil || op.isDone(x)
	switch {
	case err == nil && len(op.refusals) > 0:
		x.Errorf("%s says yes, want %v", x.name, op.refusals)
	case (err == nil || op.isNo(err)) && !done:
		x.Errorf("%s says %v, but has not been done", x.name, err)
	case driver.IsNo(err) && !op.isNo(err):
		x.Errorf("%s says %v", x.name, err)
	case op.isDone != nil && done && !driver.IsNo(err) && driver.HadNoEffect(err):
		x.Errorf("%s says that it had no effect, but has been done: %v", x.name, err)
	}
	again := op.run(x.Context(), x, x.healthy)
	if over := driver.IsNo(again) && done; (again != nil || len(op.refusals) > 0) && !op.isNo(again) && !over {
		x.Errorf("%s, again: %v", x.name, again)
	}
	if op.isDone != nil && !op.isDone(x) {
		x.Errorf("%s, again: %v, but has not been done", x.name, again)
	}
}

// end does what the core does: it releases what may be held, until it knows the outcome: a connection that was cut may
// show only now. Then nothing is left.
func (op operation) end(x *operationTest, held ...driver.Request) {
	x.Helper()
	for _, e := range []*redisson.Engine{x.faulty, x.healthy} {
		for _, r := range held {
			err := e.Release(x.Context(), driver.Release{Hold: holdOf(r)})
			for n := 1; n < 4 && err != nil && !driver.IsNo(err); n++ {
				err = e.Release(x.Context(), driver.Release{Hold: holdOf(r)})
			}
			if err != nil && !driver.IsNo(err) {
				x.Errorf("%s, at the end: %v", x.name, err)
			}
		}
	}
	if x.mine.Kind == driver.Semaphore {
		if n := command(x.T, x.server, "GET", x.name); n != "3" && n != nil { // nil: no take has arrived
			x.Errorf("%s: %v permits are there at the end, want 3", x.name, n)
		}
		command(x.T, x.server, "DEL", x.name)
	}
	checkNothingLeft(x.T, x.server)
}

// newOperationTest starts a server behind a proxy.
func newOperationTest(t *testing.T, lock redisson.LockType) (*operationTest, *redisserver.Proxy) {
	t.Helper()
	s := redisserver.ForTest(t, persistent)
	p := redisserver.ProxyForTest(t, s.Addr())
	x := &operationTest{T: t, server: s, lock: lock}
	x.faulty, x.healthy = x.open(proxied(p)), x.open(standalone(s))
	return x, p
}

// open opens an engine that keeps latches apart from locks of the same name.
func (x *operationTest) open(client newClient) *redisson.Engine {
	return open(x.T, client, redisson.WithLock(x.lock), redisson.WithLatchPrefix("latch:"))
}

// operationsOf returns the operations of engines with a type of locks, in an order.
func operationsOf(lock redisson.LockType) (names []string) {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(operations)),
		func(name string) bool { return !operations[name].can(lock) })
}

// If a connection is cut before or after a script, no operation claims that it was done or refused, nor that it had no
// effect if it had. Repeating it has the intended result, and nothing is left behind.
func TestCutConnection(t *testing.T) {
	t.Parallel()
	for kind, lock := range lockTypes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			x, p := newOperationTest(t, lock)
			must(t, func() error { _, err := x.faulty.LatchState(t.Context(), "a"); return ignoreNo(err) }())
			for _, name := range operationsOf(lock) {
				op := operations[name]
				scripts := 1
				for _, action := range []redisserver.Action{redisserver.Pass, redisserver.CutBefore,
					redisserver.CutAfter} {
					for cut := 1; cut <= scripts; cut++ {
						x.name, x.token, x.generation = fmt.Sprintf("%s %v %d", name, action, cut), 0, 0
						op.begin(x)
						var count atomic.Int64
						p.Intercept(func(request []byte) redisserver.Action {
							if isScript(request) && count.Add(1) == int64(cut) {
								return action
							}
							return redisserver.Pass
						})
						err := op.run(t.Context(), x, x.faulty)
						p.Intercept(nil)
						if action == redisserver.Pass {
							scripts = int(min(count.Load(), 3)) // who polls asks often
						} else if wasCut := count.Load() >= int64(cut); wasCut && (err == nil || driver.IsNo(err)) {
							t.Errorf("%s: %v, want an error of the connection", x.name, err)
						}
						op.check(x, err)
						op.end(x, x.mine, x.other)
					}
				}
			}
		})
	}
}

func ignoreNo(err error) error {
	if driver.IsNo(err) {
		return nil
	}
	return err
}

// isScript reports whether a request runs a script.
func isScript(request []byte) bool {
	words := redisserver.Words(request)
	return len(words) > 0 && (words[0] == "evalsha" || words[0] == "evalsha_ro")
}

// Before an operation, a server may lose its scripts, which nobody notices, or its connections, or be started again.
// Repeating the operation has the intended result, and nothing is left behind; also if the server has lost everything.
func TestOperationsAfterFaults(t *testing.T) {
	t.Parallel()
	for what, fault := range map[string]struct {
		strike           func(t *testing.T, s *redisserver.Server)
		unnoticed, loses bool
	}{
		"ScriptsFlushed": {
			strike:    func(t *testing.T, s *redisserver.Server) { command(t, s, "SCRIPT", "FLUSH") },
			unnoticed: true,
		},
		"ConnectionsKilled": {
			strike: func(t *testing.T, s *redisserver.Server) { command(t, s, "CLIENT", "KILL", "TYPE", "normal") },
		},
		"Restart": {strike: restart},
		"RestartWithoutData": {
			strike: func(t *testing.T, s *redisserver.Server) { command(t, s, "FLUSHALL"); restart(t, s) },
			loses:  true,
		},
	} {
		for kind, lock := range lockTypes {
			t.Run(what+"/"+kind, func(t *testing.T) {
				t.Parallel()
				x, _ := newOperationTest(t, lock)
				for _, name := range operationsOf(lock) {
					op := operations[name]
					x.name, x.token, x.generation = name, 0, 0
					op.begin(x)
					fault.strike(t, x.server)
					err := op.run(t.Context(), x, x.faulty)
					if fault.unnoticed && err != nil && !op.isNo(err) {
						t.Errorf("%s: %v", name, err)
					}
					eventually(t, "the other engine has connections that work", func() bool {
						_, err := x.healthy.LatchState(t.Context(), name)
						return ignoreNo(err) == nil
					})
					if !fault.loses {
						op.check(x, err)
					}
					op.end(x, x.mine, x.other)
				}
			})
		}
	}
}

// At whatever request a caller gives up, and whenever that request then arrives: after the release of the core, nothing
// is left behind.
func TestCancelAtEachRequest(t *testing.T) {
	t.Parallel()
	for kind, lock := range lockTypes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			x, p := newOperationTest(t, lock)
			for _, name := range operationsOf(lock) {
				for at := 1; cancelAt(x, p, name, at); at++ {
				}
			}
		})
	}
}

// cancelAt gives up an operation of a new engine when it sends the request with a number. It reports whether there was
// such a request.
func cancelAt(x *operationTest, p *redisserver.Proxy, name string, at int) bool {
	x.Helper()
	op := operations[name]
	x.name, x.token, x.generation = fmt.Sprintf("%s %d", name, at), 0, 0
	op.begin(x)
	rdb := goredis.NewClient(&goredis.Options{Addr: p.Addr(), MaxRetries: -1, DialerRetries: 1})
	e := x.open(func(*testing.T) goredis.UniversalClient { return rdb })
	ctx, cancel := context.WithCancel(x.Context())
	defer cancel()
	held := make(chan struct{})
	var count atomic.Int64
	p.Intercept(func([]byte) redisserver.Action {
		if count.Add(1) == int64(at) {
			close(held)
			return redisserver.Hold
		}
		return redisserver.Pass
	})
	outcome := make(chan error, 1)
	go func() { outcome <- op.run(ctx, x, e) }()
	var err error
	reached := true
	select {
	case <-held:
		cancel()
		err = <-outcome
		if err == nil {
			x.Errorf("%s: it succeeded, although its caller had given up", x.name)
		}
	case err = <-outcome:
		reached = false
		if err != nil && !op.isNo(err) {
			x.Errorf("%s: %v", x.name, err)
		}
	}
	p.Intercept(nil)
	if err := x.healthy.Release(x.Context(), driver.Release{Hold: holdOf(x.mine)}); ignoreNo(err) != nil {
		x.Errorf("%s: Release: %v", x.name, err)
	}
	p.Release() // it arrives now
	must(x.T, errors.Join(e.Close(), rdb.Close()))
	op.end(x, x.other) // the engine has released what was granted late
	return reached
}
