package redisson

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// slack is how much later than the end of a lease a waiter may have the lock.
const slack = 2 * time.Second

// testDeath freezes a program that holds all kinds of objects until its leases have ended, and later kills it while it
// holds them. The other language's program gets what it held when the leases end, and loses nothing when the frozen one
// goes on.
func (b *both) testDeath(t *testing.T, version string, holder, rival *side) {
	if holder == b.golang {
		version = ""
	}
	attempt := 0
	problem := lateness.Try(t, func() string {
		attempt++
		victim := b.start(t, version)
		frozen := b.testFrozen(t, fmt.Sprint("frozen ", attempt), victim, rival)
		return cmp.Or(frozen, b.testKilled(t, fmt.Sprint("killed ", attempt), victim, rival))
	})
	if problem != "" {
		t.Error(problem)
	}
}

// testFrozen freezes a program, and lets it go on. It returns what came late.
func (b *both) testFrozen(t *testing.T, name string, victim, rival *side) (problem string) {
	pairs := b.newPairs(t, name, victim, rival)
	problem = b.takeOver(t, pairs, func() {
		if err := victim.Pause(); err != nil {
			t.Fatal(err)
		}
	})
	if err := victim.Resume(); err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		if !p.anonymous {
			p.mustBeGone(p.a)
		}
	}
	time.Sleep(watchdog / 2) // watchdogs renew more often
	for _, p := range pairs {
		p.mustTry(p.third(), false)
		p.must(p.b.Unlock(t.Context()))
	}
	return problem
}

// testKilled kills a program. It returns what came late.
func (b *both) testKilled(t *testing.T, name string, victim, rival *side) (problem string) {
	pairs := b.newPairs(t, name, victim, rival)
	latch := b.waitAtLatch(t, name, victim, rival)
	problem = b.takeOver(t, pairs, victim.Kill)
	latch()
	for _, p := range pairs {
		p.mustTry(p.third(), false)
		p.must(p.b.Unlock(t.Context()))
	}
	b.mustLeaveNothing(t, pairs)
	return problem
}

func (b *both) newPairs(t *testing.T, name string, holder, rival *side) (pairs []*pair) {
	for _, k := range kinds {
		p := b.newPair(t, k, holder, rival)
		for _, l := range []*lock{p.a, p.b} {
			l.thread, l.name = name+" "+l.thread, name+" "+l.name
		}
		p.setPermits()
		pairs = append(pairs, p)
	}
	return pairs
}

// waitAtLatch lets both programs wait at a latch of two, which the one that dies has counted down once. The returned
// function counts it down again when that has died.
func (b *both) waitAtLatch(t *testing.T, name string, victim, rival *side) (pass func()) {
	t.Helper()
	name = "latch of " + t.Name() + name
	call := func(s *side, thread, method string, args ...any) *javaside.Pending {
		return s.Go(javaside.Call{Client: "client1", Thread: thread, Op: "latch." + method, Name: name, Args: args})
	}
	must := func(p *javaside.Pending, want any) {
		t.Helper()
		if v, err := p.Wait(t.Context()); err != nil || v != want {
			t.Errorf("the latch: %v, %v, want %v", v, err, want)
		}
	}
	must(call(victim, "latch", "trySetCount", 2), true)
	must(call(victim, "latch", "countDown"), nil)
	call(victim, "latch", "await")
	waits := call(rival, "waits", "await")
	return func() {
		t.Helper()
		select {
		case <-waits.Done():
			t.Error("a thread has passed a latch that is at one")
		default:
		}
		must(call(rival, "counts", "getCount"), int64(1))
		must(call(rival, "counts", "countDown"), nil)
		if _, err := waits.Wait(t.Context()); err != nil {
			t.Errorf("await: %v", err)
		}
	}
}

// third returns a thread beside the one that has taken over, which wants what nobody else may hold meanwhile.
func (p *pair) third() *lock {
	l := *p.b
	l.thread += " beside"
	if l.kind == "read" {
		l.kind = "write"
	}
	return &l
}

// takeOver ends a program that holds all kinds of objects, for which the other one waits, until that has all of them.
// It returns what that had too late.
func (b *both) takeOver(t *testing.T, pairs []*pair, end func()) (problem string) {
	t.Helper()
	type waiter struct {
		held time.Time // before the lease began
		done chan error
		got  time.Time
	}
	waiters := map[*pair]*waiter{}
	for _, p := range pairs {
		w := &waiter{held: time.Now(), done: make(chan error, 1)}
		waiters[p] = w
		if p.kind.holds == "permits" && p.a.side.language == "Java" { // it has no watchdog for them
			p.must(p.a.Lock(t.Context(), int(watchdog.Milliseconds())))
		} else {
			p.must(p.a.Lock(t.Context()))
		}
		if !p.anonymous {
			go func() {
				err := p.b.Lock(t.Context())
				w.got = time.Now()
				w.done <- err
			}()
		}
	}
	time.Sleep(asleep)
	end()
	ended := time.Now()
	for _, p := range pairs {
		w := waiters[p]
		if p.anonymous {
			continue
		}
		p.must(<-w.done)
		took := w.got.Sub(ended)
		t.Logf("%-10v %s had it %v later", p.kind, p.b.side.language, took.Round(time.Millisecond))
		if took > watchdog+slack {
			problem = fmt.Sprintf("%v: it took %v", p.kind, took)
		}
		if lease := w.got.Sub(w.held); lease < watchdog-50*time.Millisecond {
			t.Errorf("%v: it was taken over after %v, before the lease had ended", p.kind, lease)
		}
	}
	for _, p := range pairs {
		if p.anonymous { // nobody knows who has its permits, so they are gone until somebody adds as many
			p.mustTry(p.b, false)
			_, err := p.b.call(t.Context(), "addPermits", 1)
			p.must(err)
			p.mustTry(p.b, true)
		}
	}
	return problem
}

// mustLeaveNothing checks that nothing is left of locks but the counters of tokens, once the servers have forgotten
// what both sides remember for some seconds. Semaphores stay.
func (b *both) mustLeaveNothing(t *testing.T, pairs []*pair) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, p := range pairs {
		for _, s := range b.servers {
			for left := "?"; left != "" && !p.a.isSemaphore(); time.Sleep(50 * time.Millisecond) {
				answer, err := s.Command("EVAL", `return redis.call('keys', '*' .. ARGV[1] .. '*')`, "0", p.a.name)
				p.must(err)
				left = ""
				for _, key := range answer.([]any) {
					if text := fmt.Sprint(key); !strings.HasPrefix(text, "redisson_lock_token:") {
						left += " " + text
					}
				}
				if ctx.Err() != nil {
					p.Errorf("%v: left behind:%s", p.kind, left)
					break
				}
			}
		}
	}
}
