package redis_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// turnOrder lets waiters of several engines take turns on one name. It records the order in which they join, and in
// which they are granted the lock.
type turnOrder struct {
	total int

	joining sync.Mutex // held while somebody joins: this makes their order known
	more    sync.Cond  // of joining: somebody has joined, or the test is over
	joined  []string
	atOnce  int // grants without a wait

	holding sync.Mutex // held by the holder
	granted []driver.Request
	tokens  []uint64
}

// takeTurns takes turns until there are no more.
func (q *turnOrder) takeTurns(ctx context.Context, e *redis.Engine) error {
	for {
		r := lasting("queue", 30*time.Second)
		r.Join = true
		q.joining.Lock()
		if len(q.joined) == q.total {
			q.joining.Unlock()
			return nil
		}
		g, err := e.Take(ctx, r)
		q.joined = append(q.joined, r.Owner)
		if err == nil {
			q.atOnce++
		}
		q.more.Broadcast()
		q.joining.Unlock()
		if errors.Is(err, driver.ErrHeld) {
			g, err = e.Wait(ctx, r)
		}
		if err != nil {
			return err
		}
		if !q.holding.TryLock() {
			return fmt.Errorf("token %d was granted while another holds", g.Token)
		}
		q.granted, q.tokens = append(q.granted, r), append(q.tokens, g.Token)
		turns := len(q.granted)
		q.holding.Unlock()
		q.joining.Lock()
		// otherwise nobody would wait for a hand-over
		for len(q.joined) <= turns && turns < q.total && ctx.Err() == nil {
			q.more.Wait()
		}
		q.joining.Unlock()
		if err := e.Release(ctx, driver.Release{Hold: hold(r)}); err != nil {
			return fmt.Errorf("release of token %d: %w", g.Token, err)
		}
	}
}

var handOvers = flag.Int("handovers", 2000,
	"how many hand-overs TestOrderOfThousandsOfHandOvers watches; make schedules has it watch many")

// Over thousands of hand-overs between three engines, all get the lock in exactly the order in which they have joined,
// and tokens only grow. At no time is there a key without an end.
func TestOrderOfThousandsOfHandOvers(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	q := &turnOrder{total: *handOvers}
	q.more.L = &q.joining
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // it takes a second on an idle machine
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		q.joining.Lock()
		defer q.joining.Unlock()
		q.more.Broadcast()
	})()
	var work sync.WaitGroup
	var over atomic.Bool
	for range 3 {
		e := unguarded(t, standalone(s))
		for range 10 {
			work.Go(func() {
				if err := q.takeTurns(ctx, e); err != nil {
					t.Error(err)
					cancel()
				}
			})
		}
	}
	watched := make(chan int)
	go func() {
		checks := 0
		for ; !over.Load() && !t.Failed(); checks++ {
			if keys := endlessKeys(t, s); len(keys) > 0 {
				t.Errorf("these keys have no end: %q", keys)
			}
			time.Sleep(5 * time.Millisecond)
		}
		watched <- checks
	}()
	work.Wait()
	over.Store(true)
	if checks := <-watched; checks < 10 {
		t.Errorf("the keys were checked only %d times", checks)
	}
	if len(q.granted) != q.total {
		t.Fatalf("%d of %d were granted the lock", len(q.granted), q.total)
	}
	for i, r := range q.granted {
		if r.Owner != q.joined[i] {
			t.Fatalf("turn %d was that of another", i)
		}
		if i > 0 && q.tokens[i] <= q.tokens[i-1] {
			t.Fatalf("token %d was granted after %d", q.tokens[i], q.tokens[i-1])
		}
	}
	if q.atOnce > q.total/10 {
		t.Errorf("%d of %d did not have to wait: the test shows little", q.atOnce, q.total)
	}
	checkNothingLeft(t, s)
}

// The queue is listed as it is, also after waiters in its middle have left.
func TestQueueIsListedInItsOrder(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	holder := lasting("a", time.Minute)
	mustTake(t, a, holder)
	var queue []driver.Request
	for i := range 20 {
		r := lasting("a", time.Minute)
		r.Holder = fmt.Sprint(i)
		queue = append(queue, mustJoin(t, []*redis.Engine{a, b}[i%2], r))
	}
	for i := 1; i < len(queue); i += 3 {
		if err := a.Release(t.Context(), driver.Release{Hold: hold(queue[i])}); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("leaving the queue: %v, want ErrNotHeld", err)
		}
	}
	mustJoin(t, b, queue[5]) // once more: it keeps its place
	var want, is []string
	for i := range queue {
		if i%3 != 1 {
			want = append(want, fmt.Sprint(i))
		}
	}
	st := status(t, b, holder.Key)
	for _, w := range st.Queue {
		is = append(is, w.Holder)
	}
	if fmt.Sprint(is) != fmt.Sprint(want) || st.Waiting != len(want) {
		t.Errorf("the queue is %v (%d), want %v", is, st.Waiting, want)
	}
	for _, r := range queue {
		if err := b.Release(t.Context(), driver.Release{Hold: hold(r)}); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("leaving the queue: %v, want ErrNotHeld", err)
		}
	}
	release(t, a, holder)
	checkNothingLeft(t, s)
}

// A key that has lost its end is listed as held for ever, and can be released by force.
func TestLeakedKey(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	leaked, fine := lasting("leaked", time.Minute), lasting("fine", time.Minute)
	g := mustTake(t, e, leaked)
	mustTake(t, e, fine)
	command(t, s, "PERSIST", "lock:leaked")
	command(t, s, "SET", "lock:foreign", "of another kind")
	for k, want := range map[string]bool{"leaked": true, "foreign": true, "fine": false} {
		st := status(t, e, driver.Key{Kind: driver.Lock, Name: k})
		if len(st.Holders) != 1 || (st.Holders[0].TTL == driver.NoTTL) != want {
			t.Errorf("%s: %+v, want a holder, without an end: %v", k, st.Holders, want)
		}
	}
	if st := status(t, e, leaked.Key); st.Holders[0].Token != g.Token {
		t.Errorf("the leaked lock has token %d, want %d", st.Holders[0].Token, g.Token)
	}
	// A waiter for such a key polls again and again, and gets the lock when the key is gone.
	next := mustJoin(t, e, lasting("leaked", time.Minute))
	got := startWait(t, e, next)
	began := time.Now()
	if err := e.ForceRelease(t.Context(), leaked.Key, g.Token); err != nil {
		t.Errorf("ForceRelease of the leaked lock: %v", err)
	}
	if took := granted(t, got).at.Sub(began); took > soon {
		t.Errorf("the waiter had the lock after %v, want at once", took)
	}
	if err := e.ForceRelease(t.Context(), driver.Key{Kind: driver.Lock, Name: "foreign"}, 0); err != nil {
		t.Errorf("ForceRelease of the foreign lock: %v", err)
	}
	release(t, e, next)
	release(t, e, fine)
	checkNothingLeft(t, s)
}
