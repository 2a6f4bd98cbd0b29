package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// These scripts have the effects of those of RFairLock: see testdata/wire/fair.txt. KEYS: the lock, the queue, the
// deadlines. ARGV: now, owner, wait; lease, or what the channels of waiters begin with.
const (
	javaPurge = `
		while true do
			local head = redis.call('lindex', KEYS[2], 0)
			local time = head and redis.call('zscore', KEYS[3], head)
			if not time or tonumber(time) > tonumber(ARGV[1]) then break end
			redis.call('zrem', KEYS[3], head)
			redis.call('lpop', KEYS[2])
		end `
	javaTake = javaPurge + `
		local head, now, wait = redis.call('lindex', KEYS[2], 0), tonumber(ARGV[1]), tonumber(ARGV[3])
		if redis.call('exists', KEYS[1]) == 0 and (not head or head == ARGV[2]) then
			redis.call('lpop', KEYS[2])
			redis.call('zrem', KEYS[3], ARGV[2])
			for _, other in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
				redis.call('zincrby', KEYS[3], -wait, other)
			end
			redis.call('hset', KEYS[1], ARGV[2], 1)
			redis.call('pexpire', KEYS[1], ARGV[4])
			return -1
		end
		if redis.call('zscore', KEYS[3], ARGV[2]) then return math.max(0, redis.call('pttl', KEYS[1])) end
		local last = redis.call('lindex', KEYS[2], -1)
		local time = last and redis.call('zscore', KEYS[3], last)
		local left = time and time - now or redis.call('pttl', KEYS[1])
		if redis.call('zadd', KEYS[3], string.format('%.0f', left + wait + now), ARGV[2]) == 1 then
			redis.call('rpush', KEYS[2], ARGV[2])
		end
		return left`
	javaUnlock = javaPurge + `
		redis.call('del', KEYS[1])
		local head = redis.call('lindex', KEYS[2], 0)
		if head then redis.call('publish', ARGV[4] .. head, '0') end
		return 1`
)

// javaSide is a program in Java with one thread: a player of its scripts.
type javaSide struct {
	*wire
	client *goredis.Client
	owner  string
	wait   time.Duration // fairLockWaitTimeout
	ahead  time.Duration // of its clock
}

func (w *wire) newJavaSide(thread int, wait time.Duration) *javaSide {
	w.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: w.server.Addr(), ContextTimeoutEnabled: true})
	w.Cleanup(func() { _ = client.Close() })
	return &javaSide{w, client, fmt.Sprintf("285475da-9417-4c3a-a9f2-c4bd18f81b%02x:42", thread), wait, 0}
}

func (j *javaSide) run(ctx context.Context, script string, last any) (int64, error) {
	now := time.Now().Add(j.ahead).UnixMilli()
	return j.client.Eval(ctx, script, []string{"order", queueKey, deadlinesKey}, now, j.owner, j.wait.Milliseconds(),
		last).Int64()
}

// take asks once, for a lease of 20 s. It returns for how long to wait, or a negative time if it was granted.
func (j *javaSide) take(ctx context.Context) (time.Duration, error) {
	ms, err := j.run(ctx, javaTake, 20_000)
	return time.Duration(ms) * time.Millisecond, err
}

func (j *javaSide) join() {
	j.Helper()
	if left, err := j.take(j.Context()); err != nil || left < 0 {
		j.Fatalf("a waiter in Java joins: %v, %v", left, err)
	}
}

func (j *javaSide) unlock() {
	j.Helper()
	if _, err := j.run(j.Context(), javaUnlock, fairChannel); err != nil {
		j.Fatal(err)
	}
}

// lock waits as RFairLock.lock does, but asks at least each 100 ms: each time, it removes itself if its deadline has
// passed. The channel that it returns is closed when it holds the lock. When the function is called, it dies.
func (j *javaSide) lock() (locked <-chan struct{}, kill func()) {
	j.Helper()
	ctx, cancel := context.WithCancel(j.Context())
	result := make(chan struct{})
	var work sync.WaitGroup
	kill = func() {
		cancel()
		work.Wait()
	}
	j.Cleanup(kill)
	j.join()
	sub := j.client.Subscribe(ctx, fairChannel+j.owner)
	if _, err := sub.Receive(ctx); err != nil {
		j.Fatal(err)
	}
	messages := sub.Channel()
	work.Go(func() {
		defer sub.Close()
		for {
			left, err := j.take(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				j.Errorf("a waiter in Java: %v", err)
				return
			case left < 0:
				close(result)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-messages:
			case <-time.After(min(max(left, time.Millisecond), 100*time.Millisecond)):
			}
		}
	})
	return result, kill
}

func (j *javaSide) mustLock(locked <-chan struct{}, within time.Duration) {
	j.Helper()
	select {
	case <-locked:
	case <-time.After(within):
		j.Fatalf("the waiter in Java has no lock after %v", within)
	}
}

// hold renews a lock for a while, as a watchdog does.
func (w *wire) hold(r driver.Request, d time.Duration) {
	w.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(r.TTL / 3) {
		w.renew(r)
	}
}

func (w *wire) renew(r driver.Request) {
	w.Helper()
	w.Renew(w.Context(), []driver.Renewal{{Hold: holdOf(r), TTL: r.TTL}}, func(_ int, err error) {
		if err != nil {
			w.Errorf("Renew: %v", err)
		}
	})
}

// A waiter in Java keeps its place, however long programs in Go hold the lock before it, one for long or many for a
// short time each. Its deadline is 200 ms after what Redisson expects here, and not 5 minutes.
func TestFairWaiterInJavaKeepsItsPlace(t *testing.T) {
	t.Parallel()
	const wait = 200 * time.Millisecond
	for name, holdFor := range map[string]func(w *wire, r driver.Request){
		"Renewed":  func(w *wire, r driver.Request) { w.hold(r, 3*time.Second) },
		"LongOnes": func(*wire, driver.Request) { time.Sleep(3 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFairWire(t)
			first, second := fairRequest("first"), fairRequest("second")
			if name == "Renewed" {
				first.TTL, second.TTL = time.Second, time.Second
			}
			w.mustTake(first)
			second.Join = true
			w.mustBeRefused(second)
			secondGranted := w.wait(second)
			a, b := w.newJavaSide(1, wait), w.newJavaSide(2, wait)
			aLocked, _ := a.lock()
			bLocked, _ := b.lock()
			last := w.join("last")
			lastGranted := w.wait(last)
			queue := []string{redisson.OwnerID("second"), a.owner, b.owner, redisson.OwnerID("last")}
			holdFor(w, first)
			w.checkQueue(queue...)
			w.mustRelease(first)
			w.mustBeGranted(secondGranted, 2*time.Second)
			holdFor(w, second)
			w.checkQueue(queue[1:]...)
			w.mustRelease(second)
			a.mustLock(aLocked, 2*time.Second)
			w.checkQueue(queue[2:]...)
			a.unlock()
			b.mustLock(bLocked, 2*time.Second)
			b.unlock()
			w.mustBeGranted(lastGranted, 2*time.Second)
			w.mustRelease(last)
			w.checkQueue()
		})
	}
}

// Whatever happens to the lock in Go keeps a waiter in Java in its place, also if none in Go waits behind it.
func TestFairEachStepKeepsWaitersInJava(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]func(w *wire, java *javaSide, nearEnd func()){
		"Renewal": func(w *wire, java *javaSide, nearEnd func()) {
			r := fairRequest("a")
			w.mustTake(r)
			java.lock()
			nearEnd()
			w.renew(r)
		},
		"Take": func(w *wire, java *javaSide, nearEnd func()) {
			w.mustTake(fairRequest("a"))
			b := w.join("b")
			java.lock()
			w.do("DEL", "order")
			nearEnd()
			w.mustTake(b)
		},
		"PollOfTheNext": func(w *wire, java *javaSide, nearEnd func()) {
			w.mustTake(fairRequest("a"))
			b := w.join("b")
			java.lock()
			nearEnd()
			w.mustBeRefused(b)
		},
		"PollOfTheLast": func(w *wire, java *javaSide, nearEnd func()) {
			w.mustTake(fairRequest("a"))
			java.lock()
			b := w.join("b")
			nearEnd()
			w.mustBeRefused(b)
		},
		"TheNextLeaves": func(w *wire, java *javaSide, nearEnd func()) {
			w.mustTake(fairRequest("a"))
			b := w.join("b")
			java.lock()
			nearEnd()
			if err := w.Release(w.Context(), driver.Release{Hold: holdOf(b)}); !errors.Is(err, driver.ErrNotHeld) {
				w.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFairWire(t)
			java := w.newJavaSide(1, 10*time.Second)
			step(w, java, func() { w.do("ZADD", deadlinesKey, time.Now().UnixMilli()+3000, java.owner) })
			w.checkDeadline(java.owner, 20_000+30_000)
		})
	}
}

// A waiter in Java that has died gets no more time than beside others in Java, and less once the lock is free.
func TestFairDeadWaiterInJava(t *testing.T) {
	t.Parallel()
	w := newFairWire(t)
	a := fairRequest("a")
	a.TTL = time.Second
	w.mustTake(a)
	java, alive := w.newJavaSide(1, 5*time.Second), w.newJavaSide(2, 5*time.Second)
	_, kill := java.lock()
	aliveLocked, _ := alive.lock()
	granted := w.wait(w.join("b"))
	kill()
	before := w.deadline(java.owner)
	w.hold(a, 3*time.Second)
	if after := w.deadline(java.owner); after > before-2500 {
		t.Errorf("the deadline of one that had died was raised from %d ms to %d ms", before, after)
	}
	w.checkQueue(java.owner, alive.owner, redisson.OwnerID("b"))

	w.do("ZADD", deadlinesKey, time.Now().UnixMilli()+javaWait, java.owner)
	w.do("ZADD", deadlinesKey, time.Now().UnixMilli()+2*javaWait, alive.owner)
	began := time.Now()
	w.mustRelease(a)
	w.checkDeadline(java.owner, 15_000)
	alive.mustLock(aliveLocked, 17*time.Second)
	t.Logf("a waiter in Java had the lock %v after the release, behind one that had died",
		time.Since(began).Round(time.Millisecond))
	alive.unlock()
	w.mustBeGranted(granted, 2*time.Second)
}

// A waiter in Go that has died delays the next one by two seconds, as nobody listens for it.
func TestFairDeadWaiterInGo(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"Go", "Java"} {
		t.Run(next, func(t *testing.T) {
			t.Parallel()
			w := newFairWire(t)
			a := fairRequest("a")
			w.mustTake(a)
			w.join("dead")
			var granted func()
			if next == "Go" {
				g := w.wait(w.join("b"))
				granted = func() { w.mustBeGranted(g, 4*time.Second) }
			} else {
				java := w.newJavaSide(1, 5*time.Minute)
				locked, _ := java.lock()
				granted = func() { java.mustLock(locked, 4*time.Second) }
			}
			began := time.Now()
			w.mustRelease(a)
			granted()
			d := time.Since(began)
			t.Logf("%s had the lock %v after the release", next, d.Round(time.Millisecond))
			if d > 2500*time.Millisecond {
				t.Errorf("one that had died delayed it for %v", d)
			}
		})
	}
}

// Nobody in a queue of both languages is removed who is alive, whoever goes first.
func TestFairMixedQueue(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{300 * time.Millisecond, 5 * time.Minute, time.Hour} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			w := newFairWire(t)
			a := fairRequest("a")
			w.mustTake(a)
			var order []string
			var next []func()
			for i, side := range strings.Fields("java go java java go go java go") {
				if side == "java" {
					java := w.newJavaSide(i, wait)
					locked, _ := java.lock()
					order = append(order, java.owner)
					next = append(next, func() {
						java.mustLock(locked, 3*time.Second)
						time.Sleep(300 * time.Millisecond)
						java.unlock()
					})
				} else {
					r := w.join(fmt.Sprint("go", i))
					granted := w.wait(r)
					order = append(order, redisson.OwnerID(r.Owner))
					next = append(next, func() {
						w.mustBeGranted(granted, 3*time.Second)
						time.Sleep(300 * time.Millisecond)
						w.mustRelease(r)
					})
				}
			}
			w.checkQueue(order...)
			w.mustRelease(a)
			for i, takesTurn := range next {
				takesTurn()
				// The next one may have the lock already.
				if queue := w.client.LRange(t.Context(), queueKey, 0, -1).Val(); len(queue) > len(order)-i-1 ||
					strings.Join(queue, " ") != strings.Join(order[len(order)-len(queue):], " ") {
					t.Errorf("after turn %d the queue is %q, of %q", i, queue, order)
				}
			}
			w.checkQueue()
		})
	}
}
