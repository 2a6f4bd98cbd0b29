package redis_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver/drivertest/hostile"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// neighbour is a client of the same server that writes to the keys of locks.
type neighbour struct {
	t      testing.TB
	client *goredis.Client
	owner  string // of the holder: everybody can read it there
}

func (n *neighbour) do(args ...any) {
	// What the server refuses, such as a score that is no number, is not a case.
	_ = n.client.Do(context.Background(), args...).Err()
}

// The keys of the corrupted name, and some others.
var (
	lockKeys = [5]string{"lock:bad", "{lock:bad}:token", "{lock:bad}:queue", "{lock:bad}:holders", "{lock:bad}:info"}
	permits  = [5]string{"{lock:bad}:permits", "{lock:bad}:token", "{lock:bad}:permits-queue",
		"{lock:bad}:permits-holders", "{lock:bad}:permits-info"}
	otherKeys = [5]string{"{lock:bad}:latch", "{lock:}:removals", "{lock:}:removal-texts", "{lock:bad}:unknown",
		"{lock:}:wake"}
)

// write writes something in one of several forms: those that the scripts know, with any content, and others.
func (n *neighbour) write(form uint8, key uint8, a, b string, score float64, ms int64) {
	keys := [3][5]string{lockKeys, permits, otherKeys}[key/5%3]
	one, decimal := keys[key%5], strconv.FormatFloat(score, 'g', -1, 64)
	switch form % 13 {
	case 0:
		n.do("SET", one, a)
	case 1:
		n.do("DEL", one)
		n.do("HSET", one, a, b)
	case 2:
		n.do("DEL", one)
		n.do("ZADD", one, decimal, a)
	case 3:
		n.do("DEL", one)
		n.do("RPUSH", one, a, b)
	case 4: // what is there, and more
		n.do("APPEND", one, a)
	case 5: // a holder
		n.do("SET", keys[0], a+"\n"+b+"\n", "PX", 60_000)
	case 6: // the present holder, with other details
		n.do("SET", keys[0], n.owner+"\n"+a+" "+b+" \n", "PX", 60_000)
	case 7: // shared holders
		n.do("SET", keys[0], "shared\n"+b, "PX", 60_000)
		n.do("ZADD", keys[3], decimal, a)
		n.do("HSET", keys[4], "h"+a, b)
	case 8: // waiters
		n.do("ZADD", keys[2], decimal, a)
		n.do("HSET", keys[4], "w"+a, b)
	case 9: // many of them
		n.do(manyMembers(keys[2], decimal, a)...)
	case 10:
		n.do("SET", keys[0], "shared\n130", "PX", 60_000)
		n.do(manyMembers(keys[3], decimal, a)...)
	case 11:
		n.do("HSET", "{lock:bad}:latch", "generation", a, "left", b)
	case 12:
		n.do("HSET", "{lock:}:removal-texts", a, b)
		n.do("ZADD", "{lock:}:removals", decimal, a)
	}
	switch {
	case ms > 0:
		n.do("PEXPIRE", one, ms)
	case ms < 0:
		n.do("PERSIST", one)
	}
}

// manyMembers puts more members into a sorted set than the scripts read in one step.
func manyMembers(key, score, name string) []any {
	words := []any{"ZADD", key}
	for i := range 130 {
		words = append(words, score, name+strconv.Itoa(i))
	}
	return words
}

// Whatever a neighbour writes to the keys of a name, no engine crashes, hangs, or believes that it holds the lock; and
// all other names are listed.
func FuzzWhatNeighboursWrite(f *testing.F) {
	seed := hostile.Seeds(f)
	s := redisserver.ForTest(f, redisserver.Config{})
	client := goredis.NewClient(&goredis.Options{Addr: s.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	engine := func() *redis.Engine {
		e, err := redis.New(client, redis.WithoutFailoverGuard())
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = e.Close() })
		return e
	}
	f.Cleanup(func() { _ = client.Close() })
	a, b := engine(), engine()
	add := func(state hostile.State, form, key uint8, x, y string, score float64, ms int64) {
		seed(uint8(state), form, key, x, y, score, ms, uint8(3), uint8(13), "", "", 0.0, int64(0))
	}
	for key := range uint8(15) {
		add(hostile.Exclusive, 0, key, "x", "", 0, 0)
		add(hostile.Shared, 1, key, "x", "y", 0, -1)
		add(hostile.Permits, 2, key, "x", "", 1e18, 0)
		add(hostile.Latch, 3, key, "x", "y", 0, 1<<60)
	}
	for _, number := range []string{"", "-1", "0", "1.5", "nan", "inf", "1e300", "9007199254740991", "9007199254740992",
		"99999999999999999999", "9223372036854775807", "6000000000000000000"} {
		add(hostile.Free, 0, 1, number, "", 0, 0)
		add(hostile.Exclusive, 5, 0, "x", number+" 1 1", 0, 0)
		add(hostile.Exclusive, 6, 0, number, number, 0, 0)
		add(hostile.Shared, 7, 3, "x", number+" "+number+" 1 1\ntext", 1e15, 0)
		add(hostile.Exclusive, 8, 2, "x", "x 1 "+number+" 1000 "+number+" 1 1 - 1 p\ntext", 0.5, 0)
		add(hostile.Free, 8, 2, "x", "s 1 1 "+number+" 1 1 99999999999999999 P 1 p\ntext", 0.5, 0)
		add(hostile.Exclusive, 6, 0, "6000000000000000000", number, 0, 0)
		add(hostile.Latch, 11, 0, number, "1", 0, 0)
		add(hostile.Latch, 11, 0, "1", number, 0, 0)
		add(hostile.Free, 11, 0, "1", number, 0, -1)
		add(hostile.Free, 12, 0, number, `{"at_us": `+number+`}`, 1, 0)
	}
	for _, state := range []hostile.State{hostile.Free, hostile.Exclusive, hostile.Shared, hostile.Permits} {
		for _, score := range []float64{0.4, 1.4, -1e300, 1e300, 1e15 + 0.25} {
			add(state, 9, 0, "x", "", score, 0)
			add(state, 10, 0, "x", "", score, 0)
			add(state, 10, 5, "x", "", score, -1)
			add(state, 10, 0, "x", "", score, 1<<61)
		}
	}
	n := &neighbour{t: f, client: client}
	round := 0
	f.Fuzz(func(
		t *testing.T, state uint8,
		form1, key1 uint8, a1, b1 string, score1 float64, ms1 int64,
		form2, key2 uint8, a2, b2 string, score2 float64, ms2 int64,
	) {
		n.do("FLUSHALL")
		round++
		hostile.Run(t, hostile.Trial{
			A: a, B: b, Name: "bad", Good: "good", State: hostile.StateOf(state), Prefix: fmt.Sprintf("%d.", round),
			Overwrite: func(owner string) {
				n.owner = owner
				n.write(form1, key1, a1, b1, score1, ms1)
				n.write(form2, key2, a2, b2, score2, ms2)
			},
		})
	})
}
