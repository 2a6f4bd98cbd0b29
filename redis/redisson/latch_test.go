package redisson_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

func latchSet(name string, count int) driver.LatchSet {
	return driver.LatchSet{Name: name, ID: rand.Text(), Count: count, TTL: time.Minute}
}

func latchDown(name string) driver.LatchDown {
	return driver.LatchDown{Name: name, ID: rand.Text(), TTL: time.Minute}
}

func (p commandTest) set(name string, count int) (generation uint64) {
	p.Helper()
	if set, err := p.engine.TrySet(p.Context(), latchSet(name, count)); !set || err != nil {
		p.Fatalf("TrySet: %v, %v", set, err)
	}
	return p.latch(name, count).Generation
}

// latch reads a latch, and checks the count.
func (p commandTest) latch(name string, count int) driver.LatchState {
	p.Helper()
	st, err := p.engine.LatchState(p.Context(), name)
	if err != nil || st.Count != count {
		p.Fatalf("LatchState: %+v, %v; want the count %d", st, err, count)
	}
	return st
}

func (p commandTest) countDown(name string, left int) driver.LatchState {
	p.Helper()
	st, err := p.engine.CountDown(p.Context(), latchDown(name))
	if err != nil || st.Count != left {
		p.Fatalf("CountDown: %+v, %v; want the count %d", st, err, left)
	}
	return st
}

// countDownInJava does what countDown of RCountDownLatch does.
func (p commandTest) countDownInJava(name string) {
	p.Helper()
	p.command("EVAL", `
		local left = redis.call('decr', KEYS[1])
		if left <= 0 then redis.call('del', KEYS[1]) end
		if left == 0 then redis.call('publish', KEYS[2], 0) end`,
		"2", name, "redisson_countdownlatch__channel__{"+name+"}")
}

// waitLatch waits in a goroutine. The function that it returns checks that the wait ends soon, without an error.
func (p commandTest) waitLatch(name string, generation uint64) (mustEnd func()) {
	done := make(chan error, 1)
	go func() { done <- p.engine.WaitLatch(p.Context(), name, generation) }()
	time.Sleep(20 * time.Millisecond) // it is asleep; nothing relies on that
	return func() {
		p.Helper()
		select {
		case err := <-done:
			if err != nil {
				p.Errorf("WaitLatch: %v", err)
			}
		case <-time.After(5 * time.Second): // before the next poll
			p.Error("WaitLatch was not woken")
		}
	}
}

// mustEndTogether checks that two keys have times to live that end together.
func (p commandTest) mustEndTogether(key, other string) {
	p.Helper()
	const script = "return {redis.call('pttl', KEYS[1]), redis.call('pttl', KEYS[2])}"
	left := p.command("EVAL", script, "2", key, other).([]any)
	if d := left[0].(int64) - left[1].(int64); left[0].(int64) <= 0 || d < -1 || d > 1 {
		p.Errorf("%s and %s end in %v ms, want the same", key, other, left)
	}
}

func TestLatchIsStoredAsByRedisson(t *testing.T) {
	p := newCommandTest(t)
	subscription := standalone(p.server)(t).Subscribe(t.Context(), "redisson_countdownlatch__channel__{a}")
	defer subscription.Close()
	if _, err := subscription.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.set("a", 2)
	p.expect("2", "GET", "a")
	p.mustEndTogether("a", "leasehold_latch:{a}")
	p.countDown("a", 1)
	p.expect("1", "GET", "a")
	p.mustEndTogether("a", "leasehold_latch:{a}")
	p.countDown("a", 0)
	p.expect(int64(0), "EXISTS", "a")
	for _, want := range []string{"1", "0"} {
		m, err := subscription.ReceiveMessage(t.Context())
		if err != nil || m.Payload != want {
			t.Fatalf("message %v, %v; want %s", m, err, want)
		}
	}
}

func TestJavaCountsOurLatchDown(t *testing.T) {
	p := newCommandTest(t)
	first := p.set("a", 3)
	mustEnd := p.waitLatch("a", first)
	p.countDownInJava("a")
	p.countDown("a", 1)
	p.countDownInJava("a")
	mustEnd()
	if st := p.latch("a", 0); st.Generation != first || st.TTL <= 0 {
		t.Errorf("the latch at zero is %+v, want generation %d with a time to live", st, first)
	}
	p.countDownInJava("a") // below zero
	p.countDown("a", 0)
	if second := p.set("a", 1); second <= first {
		t.Errorf("generation %d follows %d", second, first)
	}
}

func TestLatchSetByJava(t *testing.T) {
	p := newCommandTest(t)
	p.command("SET", "a", "3")
	if st := p.latch("a", 3); st.Generation != 0 || st.TTL != driver.NoTTL {
		t.Errorf("a latch set by Java is %+v, want generation 0 without an end", st)
	}
	if set, err := p.engine.TrySet(t.Context(), latchSet("a", 1)); set || err != nil {
		t.Errorf("TrySet of a latch that Java has set: %v, %v; want false", set, err)
	}
	d := latchDown("a")
	for range 2 {
		if st, err := p.engine.CountDown(t.Context(), d); st.Count != 2 || st.Generation != 0 || err != nil {
			t.Fatalf("CountDown: %+v, %v", st, err)
		}
	}
	p.expect(int64(-1), "PTTL", "a")
	mustEnd := p.waitLatch("a", 0)
	p.countDownInJava("a")
	p.latch("a", 1)
	p.countDownInJava("a")
	mustEnd()
	p.latch("a", 0) // it is remembered, as it was counted down here, too

	p.command("SET", "b", "1")
	mustEnd = p.waitLatch("b", 0)
	p.countDownInJava("b")
	mustEnd()
	if st, err := p.engine.LatchState(t.Context(), "b"); !errors.Is(err, driver.ErrNotSet) {
		t.Errorf("a latch that only Java has used is %+v, %v; want ErrNotSet", st, err)
	}
}

func TestJavaSetsOurLatchAnew(t *testing.T) {
	p := newCommandTest(t)
	first := p.set("a", 1)
	p.countDownInJava("a")
	p.command("SET", "a", "2")
	p.waitLatch("a", first)() // it has been at zero
	if st := p.latch("a", 2); st.Generation != 0 {
		t.Errorf("a latch that Java has set anew has generation %d, want 0", st.Generation)
	}
	p.countDown("a", 1)
	p.countDown("a", 0)
	p.expect(int64(0), "EXISTS", "a")
	if third := p.set("a", 1); third <= first {
		t.Errorf("generation %d follows %d", third, first)
	}
}

func TestLatchDeletedByJava(t *testing.T) {
	p := newCommandTest(t)
	mustEnd := p.waitLatch("a", p.set("a", 5))
	p.command("DEL", "a")
	p.command("PUBLISH", "redisson_countdownlatch__channel__{a}", "1")
	mustEnd() // programs in Java take it for one at zero
	p.latch("a", 0)
}

func TestLatchIsListed(t *testing.T) {
	p := newCommandTest(t)
	generation := p.set("a", 2)
	p.command("SET", "only Java", "2")
	p.command("HSET", "leasehold_latch:{damaged}", "generation", "none")
	page, err := p.engine.List(t.Context(), driver.Query{})
	if err != nil || len(page) != 1 || page[0].Name != "a" || page[0].Latch == nil ||
		page[0].Latch.Generation != generation {
		t.Errorf("listed %+v, %v; want the one latch", page, err)
	}
	page, err = p.engine.List(t.Context(), driver.Query{Name: "only Java"})
	if err != nil || len(page) != 0 {
		t.Errorf("listed %+v, %v; want nothing, as any number may look like a latch", page, err)
	}
}

func TestOtherThingsUnderTheKeyOfALatch(t *testing.T) {
	p := newCommandTest(t)
	p.take(permits("semaphore", 3, 1))
	p.command("HSET", "lock", "field", "1")
	p.command("SET", "text", "many")
	for _, name := range []string{"semaphore", "lock", "text"} {
		before := p.command("DUMP", name)
		if _, err := p.engine.TrySet(t.Context(), latchSet(name, 2)); !driver.IsPermanent(err) {
			t.Errorf("TrySet of %s: %v, want a permanent error", name, err)
		}
		if _, err := p.engine.CountDown(t.Context(), latchDown(name)); !driver.IsPermanent(err) {
			t.Errorf("CountDown of %s: %v, want a permanent error", name, err)
		}
		p.expect(before, "DUMP", name)
		if page, err := p.engine.List(t.Context(), driver.Query{Kind: driver.Latch, Name: name}); err != nil ||
			len(page) != 0 {
			t.Errorf("listed %+v, %v; want nothing", page, err)
		}
	}
	p.set("latch", 2)
	if _, err := p.engine.Take(t.Context(), permits("latch", 3, 1)); !driver.IsPermanent(err) {
		t.Errorf("Take of permits of a latch: %v, want a permanent error", err)
	}
	p.expect("2", "GET", "latch")
}

func TestNamesOfLatchesInACluster(t *testing.T) {
	t.Parallel()
	e := open(t, cluster(redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})))
	_, err := e.TrySet(t.Context(), latchSet("shop{1}", 1))
	if _, refused := errors.AsType[*redisson.NameError](err); !refused || !driver.IsPermanent(err) {
		t.Errorf("TrySet in a Cluster of a name with a hash tag: %v, want a permanent NameError", err)
	}
	if err := e.WaitLatch(t.Context(), "shop{1}", 0); !driver.IsPermanent(err) {
		t.Errorf("WaitLatch in a Cluster of a name with a hash tag: %v, want a permanent error", err)
	}
	if set, err := e.TrySet(t.Context(), latchSet("shop", 1)); !set || err != nil {
		t.Errorf("TrySet: %v, %v", set, err)
	}
	page, err := e.List(t.Context(), driver.Query{Name: "shop{1}"})
	if err != nil || len(page) != 0 {
		t.Errorf("listed %+v, %v; want nothing", page, err)
	}
}
