package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/lateness"
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
	javaGivesUp = `
		local behind = false
		for _, other in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
			if behind then redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), other) end
			behind = behind or other == ARGV[2]
		end
		redis.call('zrem', KEYS[3], ARGV[2])
		return redis.call('lrem', KEYS[2], 0, ARGV[2])`
)

// javaSide is a program in Java with one thread: a player of its scripts.
type javaSide struct {
	*wire
	client *goredis.Client
	owner  string
	wait   time.Duration // fairLockWaitTimeout
	lease  time.Duration
}

func (w *wire) newJavaSide(thread int, wait time.Duration) *javaSide {
	w.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: w.server.Addr(), ContextTimeoutEnabled: true})
	w.Cleanup(func() { _ = client.Close() })
	owner := fmt.Sprintf("285475da-9417-4c3a-a9f2-c4bd18f81b%02x:42", thread)
	return &javaSide{w, client, owner, wait, 20 * time.Second}
}

func (j *javaSide) run(ctx context.Context, script string, last any) (int64, error) {
	now := time.Now().UnixMilli()
	return j.client.Eval(ctx, script, []string{"order", queueKey, deadlinesKey}, now, j.owner, j.wait.Milliseconds(),
		last).Int64()
}

// take asks once. It returns for how long to wait, or a negative time if it was granted.
func (j *javaSide) take(ctx context.Context) (time.Duration, error) {
	ms, err := j.run(ctx, javaTake, j.lease.Milliseconds())
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
	work.Go(func() {
		defer sub.Close()
		if j.askUntilGranted(ctx, sub.Channel()) {
			close(result)
		}
	})
	return result, kill
}

// askUntilGranted asks again and again. It returns false if ctx ends.
func (j *javaSide) askUntilGranted(ctx context.Context, messages <-chan *goredis.Message) bool {
	for {
		left, err := j.take(ctx)
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			j.Errorf("a waiter in Java: %v", err)
			return false
		case left < 0:
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-messages:
		case <-time.After(min(max(left, time.Millisecond), 100*time.Millisecond)):
		}
	}
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
		"Renewed":  func(w *wire, r driver.Request) { w.hold(r, 6*time.Second) },
		"LongOnes": func(*wire, driver.Request) { time.Sleep(3 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFairWire(t)
			first, second := fairRequest("first"), fairRequest("second")
			if name == "Renewed" {
				first.TTL, second.TTL = 3*time.Second, 3*time.Second
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

// Those behind a waiter in Java whose deadline is raised keep their distance, unless they have died: it subtracts its
// wait from theirs.
func TestFairWaitersInJavaKeepTheirDistance(t *testing.T) {
	t.Parallel()
	w := newFairWire(t)
	a := fairRequest("a")
	w.mustTake(a)
	var all []*javaSide
	for i := range 3 {
		java := w.newJavaSide(i, 5*time.Minute)
		_, kill := java.lock()
		if i == 1 {
			kill()
		}
		w.do("ZADD", deadlinesKey, time.Now().UnixMilli()+3000+int64(i)*javaWait, java.owner)
		all = append(all, java)
	}
	w.renew(a)
	w.checkDeadline(all[0].owner, 50_000)
	w.checkDeadline(all[1].owner, 3000+javaWait)
	w.checkDeadline(all[2].owner, 50_000+2*javaWait)
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
			t.Logf("%s had the lock %v after the release", next, time.Since(began).Round(time.Millisecond))
		})
	}
}

// Nobody in a queue of both languages is removed who is alive, whoever goes first.
func TestFairMixedQueue(t *testing.T) {
	t.Parallel()
	for _, it := range []struct {
		wait  time.Duration
		sides string
	}{
		{300 * time.Millisecond, "java go java java go go java go"},
		{5 * time.Minute, "java go java java go go java go"},
		{time.Hour, "java go java java go go java go"},
		{5 * time.Minute, "java go go java go"},
	} {
		t.Run(fmt.Sprint(it.wait, it.sides), func(t *testing.T) {
			t.Parallel()
			w := newFairWire(t)
			a := fairRequest("a")
			w.mustTake(a)
			var order []string
			var next []func()
			for i, side := range strings.Fields(it.sides) {
				if side == "java" {
					java := w.newJavaSide(i, it.wait)
					locked, _ := java.lock()
					order = append(order, java.owner)
					next = append(next, func() {
						java.mustLock(locked, 3*time.Second)
						time.Sleep(250 * time.Millisecond)
						java.unlock()
					})
				} else {
					r := w.join(fmt.Sprint("go", i))
					granted := w.wait(r)
					order = append(order, redisson.OwnerID(r.Owner))
					next = append(next, func() {
						w.mustBeGranted(granted, 3*time.Second)
						time.Sleep(250 * time.Millisecond)
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

// fairOrder checks in which order those that have joined a queue get the lock.
type fairOrder struct {
	mu      sync.Mutex
	waiting []string
	leaving map[string]bool
	grants  int
	wrong   []string
}

// join calls f, which reports whether it has the lock at once.
func (o *fairOrder) join(who string, f func() bool) (granted bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if granted = f(); !granted {
		o.waiting = append(o.waiting, who)
		o.leaving[who] = false
	}
	return granted
}

func (o *fairOrder) leave(who string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leaving[who] = true
}

// left says that who is not in the queue any more.
func (o *fairOrder) left(who string, granted bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.waiting, who)
	for _, other := range o.waiting[:i] {
		if granted && !o.leaving[other] {
			o.wrong = append(o.wrong, fmt.Sprintf("%s had the lock before %s", who, other))
		}
	}
	if granted {
		o.grants++
	}
	o.waiting = slices.Delete(o.waiting, i, i+1)
}

// Waiters of both languages join, wait, hold and give up at random. Time passes fast for waiters in Java: again and
// again, their deadlines are 2 s ahead. Those that stay get the lock in the order of the queue.
func TestFairOrderAtRandom(t *testing.T) {
	t.Parallel()
	if problem := lateness.Try(t, func() string { return fairOrderAtRandom(t) }); problem != "" {
		t.Error(problem)
	}
}

// fairOrderAtRandom returns what was wrong with the order.
func fairOrderAtRandom(t *testing.T) (problem string) {
	t.Helper()
	w := newFairWire(t)
	o := &fairOrder{leaving: map[string]bool{}}
	end := time.Now().Add(12 * time.Second)
	const lease = 3 * time.Second
	var work sync.WaitGroup
	var owners []any // in Java
	patience := func() time.Duration {
		if rand.N(4) == 0 {
			return rand.N(time.Second)
		}
		return time.Hour
	}
	hold := func() { time.Sleep(rand.N(900 * time.Millisecond)) }
	for i := range 8 {
		java := w.newJavaSide(i, 2*time.Second) // waiters in Go must ask more often, also on a busy machine
		java.lease = lease
		owners = append(owners, java.owner)
		work.Go(func() {
			sub := java.client.Subscribe(t.Context(), fairChannel+java.owner)
			defer sub.Close()
			if _, err := sub.Receive(t.Context()); err != nil {
				t.Error(err)
			}
			for time.Now().Before(end) {
				granted := o.join(java.owner, func() bool {
					left, err := java.take(t.Context())
					return err == nil && left < 0
				})
				if !granted {
					ctx, cancel := context.WithTimeout(t.Context(), patience())
					context.AfterFunc(ctx, func() { o.leave(java.owner) })
					granted = java.askUntilGranted(ctx, sub.Channel())
					o.left(java.owner, granted)
					cancel()
				}
				if granted {
					hold()
					java.unlock()
				} else if _, err := java.run(t.Context(), javaGivesUp, 0); err != nil {
					t.Error(err)
				}
			}
		})
		work.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				r := fairRequest(fmt.Sprint("go", i, " ", n))
				r.TTL, r.Join = lease, true
				granted := o.join(r.Owner, func() bool {
					_, err := w.Take(t.Context(), r)
					return err == nil
				})
				if !granted {
					ctx, cancel := context.WithTimeout(t.Context(), patience())
					context.AfterFunc(ctx, func() { o.leave(r.Owner) })
					_, err := w.Wait(ctx, r)
					granted = err == nil
					o.left(r.Owner, granted)
					cancel()
				}
				if granted {
					hold()
				}
				_ = w.Release(t.Context(), driver.Release{Hold: holdOf(r)})
			}
		})
	}
	work.Go(func() {
		for ; time.Now().Before(end); time.Sleep(6 * time.Second) {
			soon := goredis.Z{Score: float64(time.Now().UnixMilli() + 4000)}
			for _, soon.Member = range owners {
				if err := w.client.ZAddXX(t.Context(), deadlinesKey, soon).Err(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	work.Wait()
	t.Logf("%d waiters got the lock", o.grants)
	if o.grants < 10 {
		t.Error("that is too few to be of use")
	}
	if len(o.wrong) == 0 {
		w.checkQueue()
	}
	return strings.Join(o.wrong, "\n")
}
