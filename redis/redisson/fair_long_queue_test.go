package redisson_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/redis/redisson"
)

// A script over a long queue keeps the server busy for a few milliseconds: what is left to do is left to the next one.
func TestFairLongQueues(t *testing.T) {
	const limit = time.Second // of one script: it takes some ms, and did take many seconds; a machine may stall
	for _, dead := range []int{10, 1000, 10_000} {
		t.Run(fmt.Sprint(dead), func(t *testing.T) {
			w := newFairWire(t)
			w.do("CONFIG", "SET", "slowlog-log-slower-than", 20)
			a := fairRequest("a")
			w.mustTake(a)
			w.longQueue(dead, -1000)
			w.do("SLOWLOG", "RESET")
			began, before := time.Now(), countScripts(t, w.server)
			w.mustRelease(a)
			granted := w.wait(fairRequest("b"))
			w.mustBeGranted(granted, 10*time.Second)
			all := time.Since(began)
			longest, scripts := w.slowest(), countScripts(t, w.server)-before
			t.Logf("%d dead waiters: %d scripts, of at most %v; the next had the lock after %v", dead, scripts, longest,
				all.Round(time.Millisecond))
			if longest > limit {
				t.Errorf("a script took %v", longest)
			}
			w.checkQueue()
		})
	}
	for _, alive := range []int{10, 1000, 10_000} {
		t.Run(fmt.Sprintf("%d alive", alive), func(t *testing.T) {
			w := newFairWire(t)
			w.do("CONFIG", "SET", "slowlog-log-slower-than", 20)
			a := fairRequest("a")
			w.mustTake(a)
			w.longQueue(alive, 60_000)
			java := w.newJavaSide(1, time.Millisecond)
			java.lock()
			b := fairRequest("b")
			b.Join = true
			for _, step := range []struct {
				name string
				do   func()
			}{
				{"joining", func() { w.mustBeRefused(b) }},
				{"asking again", func() { w.mustBeRefused(b) }},
				{"a renewal that keeps places", func() { w.renew(a) }},
				{"releasing", func() { w.mustRelease(a) }},
			} {
				w.do("ZADD", deadlinesKey, time.Now().UnixMilli()+1000, java.owner)
				w.do("SLOWLOG", "RESET")
				step.do()
				longest := w.slowest()
				t.Logf("%d living waiters: %s takes %v", alive, step.name, longest)
				if longest > limit {
					t.Errorf("%s took %v", step.name, longest)
				}
			}
		})
	}
}

// longQueue adds waiters of leasehold that are alive until some time, in ms from now.
func (w *wire) longQueue(n int, aliveUntil int64) {
	w.Helper()
	until := time.Now().UnixMilli() + aliveUntil
	if _, err := w.client.Pipelined(w.Context(), func(pipe goredis.Pipeliner) error {
		for i := range n {
			owner := redisson.OwnerID(fmt.Sprint("waiter ", i))
			pipe.RPush(w.Context(), queueKey, owner)
			pipe.ZAdd(w.Context(), deadlinesKey, goredis.Z{Score: float64(until), Member: owner})
			pipe.HSet(w.Context(), waitersKey, owner, strconv.FormatInt(until, 10)+" host")
		}
		return nil
	}); err != nil {
		w.Fatal(err)
	}
}

// slowest returns how long the longest script of the engine took that is in the slow log.
func (w *wire) slowest() (longest time.Duration) {
	w.Helper()
	log, err := w.client.SlowLogGet(w.Context(), -1).Result()
	if err != nil {
		w.Fatal(err)
	}
	for _, l := range log {
		if strings.HasPrefix(strings.ToLower(l.Args[0]), "eval") {
			longest = max(longest, l.Duration)
		}
	}
	return longest
}
