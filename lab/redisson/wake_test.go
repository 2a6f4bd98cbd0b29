package redisson

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// testWaiters checks that nobody asks again while a lock is held for long, and that an unlock then wakes the other
// side.
func (b *both) testWaiters(t *testing.T, holder, rival *side) {
	var pairs []*pair
	for _, k := range kinds {
		p := b.newPair(t, k, holder, rival)
		p.a.patient, p.b.patient = true, true
		pairs = append(pairs, p)
	}
	if problem := lateness.Try(t, func() string { return b.measureWaiters(t, pairs) }); problem != "" {
		t.Error(problem)
	}
	b.testLatchWakes(t, holder, rival)
}

// measureWaiters lets all first sides hold while the other sides wait, several times. It returns what is wrong.
func (b *both) measureWaiters(t *testing.T, pairs []*pair) string {
	var problems []string
	took := map[*pair][]time.Duration{}
	for round := range wakes {
		quiet := slices.DeleteFunc(slices.Clone(pairs), func(p *pair) bool { return p.polls })
		done := b.beginToWait(quiet)
		if round == 0 {
			problems = append(problems, b.areQuiet(t))
		}
		polling := slices.DeleteFunc(slices.Clone(pairs), func(p *pair) bool { return !p.polls })
		waiting, done := append(quiet, polling...), append(done, b.beginToWait(polling)...)
		for i, p := range waiting {
			began := time.Now()
			p.must(p.a.Unlock(t.Context()))
			p.must(<-done[i])
			took[p] = append(took[p], time.Since(began))
			p.must(p.b.Unlock(t.Context()))
		}
	}
	for _, p := range pairs {
		limit := wakeLimit
		if p.polls && !p.notified {
			limit = time.Second // it may be woken just after it has asked
		}
		problems = append(problems, judge(t, p.String(), took[p], limit))
	}
	problems = slices.DeleteFunc(problems, func(problem string) bool { return problem == "" })
	return strings.Join(problems, "\n")
}

// testLatchWakes checks the same for a latch that one side counts down, and the other waits for.
func (b *both) testLatchWakes(t *testing.T, counts, waits *side) {
	name := "latch of " + strings.ReplaceAll(t.Name(), "/", "_")
	call := func(s *side, method string, args ...any) *javaside.Pending {
		return s.Go(javaside.Call{Client: "patient1", Thread: name, Op: "latch." + method, Name: name, Args: args})
	}
	must := func(p *javaside.Pending) {
		t.Helper()
		if _, err := p.Wait(t.Context()); err != nil {
			t.Fatalf("the latch: %v", err)
		}
	}
	mustWake(t, "latch", wakeLimit, func() time.Duration {
		must(call(counts, "trySetCount", 1))
		waiter := call(waits, "await")
		if err := b.awaitSubscriber(t.Context(), "redisson_countdownlatch__channel__{"+name+"}"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		must(call(counts, "countDown"))
		must(waiter)
		return time.Since(began)
	})
}

// beginToWait lets all first sides hold, and all others wait. It returns when those that are notified will be. Nobody
// is renewed soon.
func (b *both) beginToWait(pairs []*pair) (done []<-chan error) {
	for _, p := range pairs {
		p.must(p.a.Lock(p.Context()))
	}
	for _, p := range pairs {
		locked := make(chan error, 1)
		go func() { locked <- p.b.Lock(p.Context()) }()
		done = append(done, locked)
	}
	for _, p := range pairs {
		if channel := p.channel(); channel != "" {
			p.must(b.awaitSubscriber(p.Context(), channel))
			if p.b.side == b.java {
				p.must(b.java.AwaitSleep(p.Context(), p.b.client("1"), p.b.thread))
			}
		}
	}
	return done
}

// channel returns a pattern of the channel on which a waiter is notified.
func (p *pair) channel() string {
	prefix := map[string]string{
		"lock": "redisson_lock__channel:{%s}", "fenced": "redisson_lock__channel:{%s}",
		"fair": "redisson_lock__channel:{%s}:*", "multi": "redisson_lock__channel:{%s *}",
		"write": "redisson_rwlock:{%s}", "read": "redisson_rwlock:{%s}",
		"semaphore": "redisson_sc:{%s}", "permits": "redisson_sc:{%s}",
	}[p.wants]
	if prefix == "" {
		return ""
	}
	return fmt.Sprintf(prefix, p.b.name)
}

func (b *both) awaitSubscriber(ctx context.Context, pattern string) error {
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		answer, err := b.servers[0].Command("PUBSUB", "CHANNELS", pattern)
		if err != nil {
			return err
		}
		if list, _ := answer.([]any); len(list) > 0 {
			return nil
		}
	}
	return ctx.Err()
}

// scriptCalls are the statistics of the commands that run scripts.
var scriptCalls = regexp.MustCompile(`cmdstat_eval\w*:calls=(\d+)`)

// countScripts returns how many scripts have run on the servers.
func (b *both) countScripts(t *testing.T) (n int) {
	t.Helper()
	for _, s := range b.servers {
		text, err := s.Command("INFO", "commandstats")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range scriptCalls.FindAllStringSubmatch(fmt.Sprint(text), -1) {
			calls, _ := strconv.Atoi(m[1]) // it is digits
			n += calls
		}
	}
	if n == 0 {
		t.Fatal("the servers have counted no scripts")
	}
	return n
}

// areQuiet waits until those that wait ask no more, for a second: a take, like a renewal, is a script. Before, what
// earlier takes have left behind is released. A multi-lock in Java asks again every three seconds. It returns what is
// wrong.
func (b *both) areQuiet(t *testing.T) string {
	t.Helper()
	const window = time.Second
	count := b.countScripts(t)
	for began := time.Now(); ; {
		time.Sleep(window)
		now := b.countScripts(t)
		if now == count {
			return ""
		}
		if time.Since(began) > 10*window {
			return fmt.Sprintf("%d scripts have run within %v while everybody waits", now-count, window)
		}
		count = now
	}
}
