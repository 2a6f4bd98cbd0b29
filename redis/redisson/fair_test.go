package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

const (
	queueKey     = "redisson_lock_queue:{order}"
	deadlinesKey = "redisson_lock_timeout:{order}"
	waitersKey   = "leasehold_waiters:{order}"
	fairChannel  = "redisson_lock__channel:{order}:"
	javaWait     = 300_000 // fairLockWaitTimeout, in ms
)

func newFairWire(t *testing.T) *wire {
	t.Helper()
	return newWire(t, redisson.WithLock(redisson.Fair))
}

func fairRequest(owner string) driver.Request { return request(owner, "order", driver.Exclusive) }

// join joins the queue. Nothing refreshes the place after that.
func (w *wire) join(owner string) driver.Request {
	w.Helper()
	r := fairRequest(owner)
	r.Join = true
	w.mustBeRefused(r)
	return r
}

// wait waits in a goroutine, and returns what tells when the lock was granted.
func (w *wire) wait(r driver.Request) (granted <-chan driver.Grant) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan struct{})
	result := make(chan driver.Grant, 1)
	go func() {
		defer close(ended)
		g, err := w.Wait(ctx, r)
		if err == nil {
			result <- g
		} else if ctx.Err() == nil {
			w.Errorf("Wait by %s: %v", r.Owner, err)
		}
	}()
	w.Cleanup(func() {
		cancel()
		<-ended
	})
	return result
}

func (w *wire) mustBeGranted(granted <-chan driver.Grant, within time.Duration) {
	w.Helper()
	select {
	case <-granted:
	case <-time.After(within):
		w.Fatalf("the waiter was not granted the lock within %v", within)
	}
}

// deadline returns until when an owner is believed to be alive, in ms from now.
func (w *wire) deadline(owner string) int64 {
	w.Helper()
	text, ok := w.do("ZSCORE", deadlinesKey, owner).(string)
	if !ok {
		f, isNumber := w.do("ZSCORE", deadlinesKey, owner).(float64)
		if !isNumber {
			w.Fatalf("%s has no deadline", owner)
		}
		return int64(f) - time.Now().UnixMilli()
	}
	score, err := strconv.ParseFloat(text, 64)
	if err != nil {
		w.Fatal(err)
	}
	return int64(score) - time.Now().UnixMilli()
}

// checkDeadline checks a deadline, in ms from now.
func (w *wire) checkDeadline(owner string, want int64) {
	w.Helper()
	if got := w.deadline(owner); got > want+500 || got < want-5000 {
		w.Errorf("the deadline is in %d ms, want about %d", got, want)
	}
}

func (w *wire) checkQueue(want ...string) {
	w.Helper()
	if got := w.client.LRange(w.Context(), queueKey, 0, -1).Val(); !slices.Equal(got, want) {
		w.Errorf("the queue is %q, want %q", got, want)
	}
}

// javaJoins adds a waiter in Java, with its deadline in ms from now.
func (w *wire) javaJoins(deadline int64) {
	w.Helper()
	w.do("RPUSH", queueKey, javaThread)
	w.do("ZADD", deadlinesKey, time.Now().UnixMilli()+deadline, javaThread)
}

// javaIsGranted does what the script of a waiter in Java does that is the head of a free lock.
func (w *wire) javaIsGranted() {
	w.Helper()
	w.do("EVAL", `redis.call('lpop', KEYS[2]); redis.call('zrem', KEYS[3], ARGV[1])
		for _, other in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
			redis.call('zincrby', KEYS[3], -ARGV[2], other)
		end
		redis.call('hset', KEYS[1], ARGV[1], 1); redis.call('pexpire', KEYS[1], 20000)`,
		3, "order", queueKey, deadlinesKey, javaThread, javaWait)
}

func TestFairKeysAndMessages(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"order": "{order}", "order{7}": "order{7}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFairWire(t)
			messages := w.listen("redisson_lock__channel:" + key + ":*")
			a, b := request("a", name, driver.Exclusive), request("b", name, driver.Exclusive)
			ids := map[string]string{redisson.OwnerID("a"): "A", redisson.OwnerID("b"): "B"}
			held := name + " A=1 leasehold:holder=host a leasehold:token=1, 20s"
			w.mustTake(a)
			w.mustTake(a) // it is repeated
			token := "redisson_lock_token:" + key + " 1, for ever"
			w.checkKeys(ids, held, token)

			b.Join = true
			w.mustBeRefused(b)
			w.do("HSET", "leasehold_waiters:"+key, redisson.OwnerID("b"), "note")
			w.checkKeys(ids, held, token, "redisson_lock_queue:"+key+" [B], for ever",
				"redisson_lock_timeout:"+key+" [B], for ever", "leasehold_waiters:"+key+" B=note, 100s")
			messages()
			w.mustRelease(a)
			messages("redisson_lock__channel:" + key + ":" + redisson.OwnerID("b") + " 0")
			if err := w.Release(t.Context(), driver.Release{Hold: holdOf(b)}); !errors.Is(err, driver.ErrNotHeld) {
				t.Errorf("Release of a waiter: %v", err)
			}
			w.checkKeys(ids, token)
		})
	}
}

// A waiter that has gone delays the next one for 5 s at most; and two do not delay it for longer.
func TestFairDeadWaiters(t *testing.T) {
	t.Parallel()
	w := newFairWire(t)
	a := fairRequest("a")
	w.mustTake(a)
	w.join("dead")
	w.join("dead, too")
	granted := w.wait(w.join("b"))
	w.mustRelease(a)
	w.mustBeGranted(granted, 7*time.Second)
	w.checkQueue()
}

// A waiter that still asks keeps its place for longer than others believe in it without that.
func TestFairWaiterKeepsItsPlace(t *testing.T) {
	t.Parallel()
	w := newFairWire(t)
	a := fairRequest("a")
	w.mustTake(a)
	first, second := w.join("b"), w.join("c")
	firstGranted, secondGranted := w.wait(first), w.wait(second)
	time.Sleep(6 * time.Second)
	w.checkQueue(redisson.OwnerID("b"), redisson.OwnerID("c"))
	w.mustRelease(a)
	w.mustBeGranted(firstGranted, 5*time.Second)
	w.mustRelease(first)
	w.mustBeGranted(secondGranted, 5*time.Second)
}

// Behind a waiter in Java, one in Go has a later deadline: as that one subtracts its wait from all deadlines when it
// gets the lock.
func TestFairBehindAWaiterInJava(t *testing.T) {
	t.Parallel()
	w := newFairWire(t)
	a := fairRequest("a")
	w.mustTake(a)
	w.javaJoins(20_000 + javaWait)
	b, c := w.join("b"), w.join("c")
	idB, idC := redisson.OwnerID("b"), redisson.OwnerID("c")
	w.checkQueue(javaThread, idB, idC)
	w.checkDeadline(idB, 25_000+javaWait)
	w.checkDeadline(idC, 25_000+javaWait)

	w.mustRelease(a)
	w.javaIsGranted()
	w.checkQueue(idB, idC)
	w.checkDeadline(idC, 25_000)
	granted := w.wait(b)
	// From now on nobody before them subtracts anything.
	for began := time.Now(); w.deadline(idB) > 5000; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 5*time.Second {
			t.Fatalf("the deadline of the head is in %d ms", w.deadline(idB))
		}
	}
	w.checkDeadline(idC, 25_000)
	w.mustBeRefused(c)
	w.checkDeadline(idC, 5000)
	w.do("DEL", "order")
	w.mustBeGranted(granted, 5*time.Second)
}

// Who leaves the queue changes nothing for the others.
func TestFairLeavesFromBehindAWaiterInJava(t *testing.T) {
	t.Parallel()
	w := newFairWire(t)
	w.mustTake(fairRequest("a"))
	w.javaJoins(20_000 + javaWait)
	b := w.join("b")
	w.join("c")
	if err := w.Release(t.Context(), driver.Release{Hold: holdOf(b)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Fatal(err)
	}
	w.checkQueue(javaThread, redisson.OwnerID("c"))
	w.checkDeadline(javaThread, 20_000+javaWait)
	w.checkDeadline(redisson.OwnerID("c"), 25_000+javaWait)
}

// Many waiters in Go may take longer than a waiter in Java has said that it would wait. It is not removed when its turn
// comes at last, as long as it listens.
func TestFairWaiterInJavaWhoseTimeIsOver(t *testing.T) {
	t.Parallel()
	for _, listens := range []bool{true, false} {
		t.Run(fmt.Sprintf("listens=%v", listens), func(t *testing.T) {
			t.Parallel()
			w := newFairWire(t)
			a := fairRequest("a")
			w.mustTake(a)
			w.javaJoins(-1000)
			b := w.join("b")
			w.checkQueue(javaThread, redisson.OwnerID("b"))
			if !listens {
				granted := w.wait(b)
				w.mustRelease(a)
				w.mustBeGranted(granted, 4*time.Second)
				return
			}
			sub := w.client.Subscribe(t.Context(), fairChannel+javaThread)
			defer sub.Close()
			if _, err := sub.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.mustRelease(a)
			if m, err := sub.ReceiveMessage(t.Context()); err != nil || m.Payload != "0" {
				t.Fatal(m, err)
			}
			w.checkQueue(javaThread, redisson.OwnerID("b"))
			w.checkDeadline(javaThread, 5000)
			w.mustBeGranted(w.wait(b), 7*time.Second) // it had its chance
			w.checkQueue()
		})
	}
}

// While the lock is free and its next holder late, those behind it do not ask all the time.
func TestFairFreeLockIsNotPolledInALoop(t *testing.T) {
	t.Parallel()
	w := newFairWire(t)
	a := fairRequest("a")
	w.mustTake(a)
	w.javaJoins(20_000 + javaWait)
	w.wait(w.join("b"))
	w.mustRelease(a)
	before := countScripts(t, w.server)
	time.Sleep(2 * time.Second)
	if n := countScripts(t, w.server) - before; n < 1 || n > 8 {
		t.Errorf("a waiter has sent %d scripts in 2 s", n)
	}
}

// countScripts returns how many scripts a server has run.
func countScripts(t *testing.T, s *redisserver.Server) int {
	t.Helper()
	line, err := s.Info("cmdstat_evalsha")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(line, "calls=")
	calls, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(calls)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return n
}
