package redisson_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver/drivertest/hostile"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// neighbour is another program that writes to the keys of semaphores and latches.
type neighbour struct{ client *goredis.Client }

func (n neighbour) do(args ...any) {
	// What the server refuses, such as a score that is no number, is not a case.
	_ = n.client.Do(context.Background(), args...).Err()
}

var neighbourKeys = [...]string{
	"s:bad", "{s:bad}:timeout", "leasehold_permits:{s:bad}", "leasehold_permits_set:{s:bad}",
	"l:bad", "leasehold_latch:{l:bad}", "bad", "leasehold_unknown:{bad}",
}

// write writes something in one of several forms: those that the scripts know, with any content, and others.
func (n neighbour) write(form, key uint8, a, b string, score float64, ms int64) {
	one := neighbourKeys[int(key)%len(neighbourKeys)]
	decimal := strconv.FormatFloat(score, 'g', -1, 64)
	switch form % 9 {
	case 0:
		n.do("SET", one, a)
	case 1:
		n.do("DEL", one)
		n.do("HSET", one, a, b)
	case 2:
		n.do("ZADD", one, decimal, a)
	case 3:
		n.do("DEL", one)
		n.do("RPUSH", one, a, b)
	case 4:
		n.do("DEL", one)
	case 5: // the ends of all leases
		held, _ := n.client.ZRange(context.Background(), "{s:bad}:timeout", 0, -1).Result()
		for _, id := range held {
			n.do("ZADD", "{s:bad}:timeout", decimal, id)
		}
	case 6: // what is known about all holders
		known, _ := n.client.HKeys(context.Background(), "leasehold_permits:{s:bad}").Result()
		for _, owner := range known {
			n.do("HSET", "leasehold_permits:{s:bad}", owner, a)
		}
	case 7:
		n.do("HSET", "leasehold_permits_set:{s:bad}", "token", a, "size", b)
	case 8:
		n.do("HSET", "leasehold_latch:{l:bad}", "generation", a, "before", b)
	}
	switch {
	case ms > 0:
		n.do("PEXPIRE", one, ms)
	case ms < 0:
		n.do("PERSIST", one)
	}
}

// Whatever a neighbour writes to the keys of a semaphore or a latch, no engine crashes, hangs, or believes that it
// holds permits which others hold; and all other names are listed.
func FuzzWhatNeighboursWriteToPermitsAndLatches(f *testing.F) {
	seed := hostile.Seeds(f)
	s := redisserver.ForTest(f, redisserver.Config{})
	client := goredis.NewClient(&goredis.Options{Addr: s.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	engine := func() *redisson.Engine {
		e, err := redisson.New(client, redisson.WithSemaphorePrefix("s:"), redisson.WithLatchPrefix("l:"))
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = e.Close() })
		return e
	}
	f.Cleanup(func() { _ = client.Close() })
	a, b := engine(), engine()
	add := func(state hostile.State, form, key uint8, x, y string, score float64, ms int64) {
		seed(uint8(state), form, key, x, y, score, ms, uint8(4), uint8(7), "", "", 0.0, int64(0))
	}
	states := []hostile.State{hostile.Free, hostile.Permits, hostile.Latch}
	for key := range uint8(len(neighbourKeys)) {
		for _, state := range states {
			add(state, 0, key, "x", "", 0, 0)
			add(state, 1, key, "x", "y", 0, -1)
			add(state, 2, key, "sixteen bytes id", "", 1e18, 0)
			add(state, 3, key, "x", "y", 0, 1<<60)
			add(state, 4, key, "", "", 0, 0)
		}
	}
	for _, number := range []string{"", "-1", "0", "1.5", "nan", "inf", "1e300", "9007199254740991", "9007199254740992",
		"99999999999999999999", "9223372036854775807"} {
		add(hostile.Permits, 0, 0, number, "", 0, 0)
		add(hostile.Permits, 6, 0, number+" "+number+" text", "", 0, 0)
		add(hostile.Permits, 6, 0, "1 "+number+" text", "", 0, 0)
		add(hostile.Permits, 7, 0, number, "1", 0, 0)
		add(hostile.Permits, 7, 0, "1", number, 0, 0)
		add(hostile.Latch, 0, 4, number, "", 0, 0)
		add(hostile.Latch, 8, 0, number, number, 0, 0)
		add(hostile.Free, 8, 0, number, "1", 0, 0)
	}
	for _, score := range []float64{0.4, -1e300, 1e300, 1e15 + 0.25, 922337203685472, 922337203685477} {
		add(hostile.Permits, 5, 0, "", "", score, 0)
		add(hostile.Permits, 2, 1, "x", "", score, 0)
		add(hostile.Permits, 5, 1, "", "", score, 1<<61)
	}
	n := neighbour{client}
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
			Overwrite: func(string) {
				n.write(form1, key1, a1, b1, score1, ms1)
				n.write(form2, key2, a2, b2, score2, ms2)
			},
		})
	})
}
