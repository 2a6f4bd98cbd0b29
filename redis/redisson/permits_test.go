package redisson_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

func permits(name string, size, weight int) driver.Request {
	return driver.Request{
		Key:   driver.Key{Kind: driver.Semaphore, Name: name},
		Owner: rand.Text(), Size: size, Weight: weight, TTL: time.Minute, Tokens: 1, Holder: "a test",
	}
}

func holdOf(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

func (p commandTest) take(r driver.Request) {
	p.Helper()
	if _, err := p.engine.Take(p.Context(), r); err != nil {
		p.Fatalf("Take of %d permits of %d: %v", r.Weight, r.Size, err)
	}
}

func (p commandTest) mustBeRefused(r driver.Request) {
	p.Helper()
	if _, err := p.engine.Take(p.Context(), r); !errors.Is(err, driver.ErrHeld) {
		p.Fatalf("Take of %d permits of %d: %v, want ErrHeld", r.Weight, r.Size, err)
	}
}

func (p commandTest) release(r driver.Request) error {
	return p.engine.Release(p.Context(), driver.Release{Hold: holdOf(r)})
}

func TestPermitsAreStoredAsByRedisson(t *testing.T) {
	p := newCommandTest(t)
	r := permits("a", 5, 2)
	began := time.Now()
	p.take(r)
	p.expect("3", "GET", "a")
	held := p.command("ZRANGE", "{a}:timeout", "0", "-1", "WITHSCORES").([]any)
	if len(held) != 4 {
		t.Fatalf("two permits are kept as %q", held)
	}
	for i := 0; i < len(held); i += 2 {
		id, score := held[i].(string), held[i+1].(string)
		end, err := strconv.ParseInt(score, 10, 64)
		if len(id) != 16 || err != nil {
			t.Errorf("permit %q until %s, %v; want 16 bytes and milliseconds", id, score, err)
		}
		if left := time.UnixMilli(end).Sub(began); left < r.TTL-time.Millisecond || left > r.TTL+10*time.Second {
			t.Errorf("a permit for %v ends after %v", r.TTL, left)
		}
	}
	p.expect(int64(-1), "PTTL", "a")
	if err := p.release(r); err != nil {
		t.Fatal(err)
	}
	p.expect("5", "GET", "a")
	p.expect([]any{}, "ZRANGE", "{a}:timeout", "0", "-1")
	p.expect(int64(0), "EXISTS", "leasehold_permits:{a}")
}

func TestNumberOfPermits(t *testing.T) {
	p := newCommandTest(t)
	p.take(permits("ours", 3, 2))
	p.take(permits("ours", 5, 3)) // it grows with the sizes
	p.expect("0", "GET", "ours")
	p.mustBeRefused(permits("ours", 3, 1))

	p.command("SET", "many", "10") // as trySetPermits of Java
	p.take(permits("many", 3, 3))
	p.mustBeRefused(permits("many", 3, 1)) // the size of a request counts, too
	p.take(permits("many", 20, 7))
	p.mustBeRefused(permits("many", 20, 1))

	p.take(permits("changed", 3, 1))
	p.command("DECR", "changed") // as setPermits(2) of Java
	p.take(permits("changed", 5, 1))
	p.mustBeRefused(permits("changed", 5, 1))
	p.command("INCR", "changed") // as setPermits(3) of Java: the number is that of Java still
	p.take(permits("changed", 5, 1))
	p.mustBeRefused(permits("changed", 5, 1))
}

func TestPermitsOfJava(t *testing.T) {
	p := newCommandTest(t)
	const id, another = "0123456789abcdef", "fedcba9876543210"
	p.command("SET", "a", "0")
	p.command("ZADD", "{a}:timeout", "922337203685477", id) // without a lease
	p.mustBeRefused(permits("a", 1, 1))
	page, err := p.engine.List(t.Context(), driver.Query{})
	want := driver.Status{
		Key:     permits("a", 1, 1).Key,
		Holders: []driver.Holder{{Weight: 1, Holder: "Redisson permit", TTL: driver.NoTTL, Age: -1}},
	}
	if err != nil || len(page) != 1 || !reflect.DeepEqual(page[0], want) {
		t.Errorf("listed %+v, %v; want %+v", page, err, want)
	}
	p.command("ZADD", "{a}:timeout", "922337203685477", another)
	if err := p.engine.ForceRelease(t.Context(), want.Key, 0); !driver.IsPermanent(err) {
		t.Errorf("ForceRelease of one of two permits without tokens: %v, want a permanent error", err)
	}
	p.command("ZREM", "{a}:timeout", another)
	if err := p.engine.ForceRelease(t.Context(), want.Key, 0); err != nil {
		t.Errorf("ForceRelease of the only permit without a token: %v", err)
	}
	p.expect("1", "GET", "a")

	p.command("SET", "b", "0")
	p.command("ZADD", "{b}:timeout", fmt.Sprint(time.Now().Add(-time.Second).UnixMilli()), id)
	p.take(permits("b", 1, 1)) // the other has ended
	p.expect(int64(1), "ZCARD", "{b}:timeout")

	p.command("SET", "c", "1", "PX", "50000") // as trySetPermits with a time to live
	p.take(permits("c", 1, 1))
	if left, _ := p.command("PTTL", "{c}:timeout").(int64); left <= 0 || left > 50000 {
		t.Errorf("held permits are forgotten after %d ms, want those of the semaphore", left)
	}
}

// A program in Java that knows an id may release the permit.
func TestPermitGoneEarly(t *testing.T) {
	p := newCommandTest(t)
	r := permits("a", 3, 2)
	p.take(r)
	ids := p.command("ZRANGE", "{a}:timeout", "0", "-1").([]any)
	p.command("ZREM", "{a}:timeout", ids[1].(string))
	p.command("INCR", "a")
	p.engine.Renew(t.Context(), []driver.Renewal{{Hold: holdOf(r), TTL: time.Minute}}, func(_ int, err error) {
		if !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Renew without one of the permits: %v, want ErrNotHeld", err)
		}
	})
	if err := p.release(r); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release without one of the permits: %v, want ErrNotHeld", err)
	}
	p.expect("3", "GET", "a")
}

// What is known about the holders has a lease and may be evicted.
func TestPermitsWithoutTheirHolders(t *testing.T) {
	p := newCommandTest(t)
	r := permits("a", 3, 2)
	p.take(r)
	p.command("DEL", "leasehold_permits:{a}")
	p.engine.Renew(t.Context(), []driver.Renewal{{Hold: holdOf(r), TTL: time.Minute}}, func(_ int, err error) {
		if err != nil {
			t.Errorf("Renew: %v", err)
		}
	})
	p.take(r)
	p.expect("1", "GET", "a")
	p.command("DEL", "leasehold_permits:{a}")
	if err := p.release(r); err != nil {
		t.Errorf("Release: %v", err)
	}
	p.expect("3", "GET", "a")
}

// A weight that another program has written must not keep the server busy.
func TestPermitsOfAnInvalidWeight(t *testing.T) {
	p := newCommandTest(t)
	r := permits("a", 3, 2)
	p.take(r)
	for _, owner := range p.command("HKEYS", "leasehold_permits:{a}").([]any) {
		p.command("HSET", "leasehold_permits:{a}", owner.(string), "9223372036854775807 1 text")
	}
	p.take(r)
	p.expect("1", "GET", "a")
	if err := p.release(r); err != nil {
		t.Errorf("Release: %v", err)
	}
	p.expect("3", "GET", "a")
}

func TestHoldersOfEndedPermitsAreForgotten(t *testing.T) {
	p := newCommandTest(t)
	p.take(permits("a", 9, 1))
	for range 4 {
		p.take(permits("a", 9, 1))
		p.command("ZREMRANGEBYRANK", "{a}:timeout", "0", "0") // as programs in Java do when a permit has ended
		p.command("INCR", "a")
	}
	if n := p.command("HLEN", "leasehold_permits:{a}").(int64); n > 2 {
		t.Errorf("%d holders are known while one permit is held", n)
	}
}

func TestMessagesOfPermits(t *testing.T) {
	p := newCommandTest(t)
	subscription := standalone(p.server)(t).Subscribe(t.Context(), "redisson_sc:{a}")
	defer subscription.Close()
	if _, err := subscription.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := permits("a", 3, 2)
	p.take(r) // sets the number
	if err := p.release(r); err != nil {
		t.Fatal(err)
	}
	p.take(r)
	p.command("ZADD", "{a}:timeout", "XX", "1", p.command("ZRANGE", "{a}:timeout", "0", "0").([]any)[0].(string))
	p.take(permits("a", 3, 1)) // removes one that has ended
	for _, want := range []string{"3", "3", "2"} {
		m, err := subscription.ReceiveMessage(t.Context())
		if err != nil || m.Payload != want {
			t.Fatalf("message %v, %v; want %s", m, err, want)
		}
	}
}

func TestOtherThingsUnderTheKeysOfASemaphore(t *testing.T) {
	p := newCommandTest(t)
	p.command("HSET", "lock", "field", "1")
	p.command("SET", "text", "many")
	p.command("SET", "held", "1")
	p.command("SET", "{held}:timeout", "1")
	for _, name := range []string{"lock", "text", "held"} {
		before := p.command("DUMP", name)
		if _, err := p.engine.Take(t.Context(), permits(name, 3, 1)); !driver.IsPermanent(err) {
			t.Errorf("Take of %s: %v, want a permanent error", name, err)
		}
		p.expect(before, "DUMP", name)
	}
	p.expect(int64(4), "DBSIZE")
	if _, err := p.engine.Take(t.Context(), permits("a", 2000, 1001)); !driver.IsPermanent(err) {
		t.Errorf("Take of 1001 permits: %v, want a permanent error", err)
	}
}

// Other programs may use names that the engine refuses.
func TestListingBesideRefusedNames(t *testing.T) {
	p := newCommandTest(t)
	p.command("HSET", "{a}", "field", "1")
	p.command("ZADD", "{b}:timeout", "1", "short")
	r := permits("c", 1, 1)
	p.take(r)
	page, err := p.engine.List(t.Context(), driver.Query{})
	if err != nil || len(page) != 1 || page[0].Key != r.Key {
		t.Errorf("listed %+v, %v; want %s", page, err, r.Name)
	}
}
