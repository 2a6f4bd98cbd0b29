package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wordsOf returns what a client reads of a command.
func wordsOf(s *sentScript) (words []string) {
	for _, arg := range s.cmd.Args() {
		switch arg := arg.(type) {
		case *string:
			words = append(words, *arg)
		case *int64:
			words = append(words, fmt.Sprint(*arg))
		default:
			words = append(words, fmt.Sprint(arg))
		}
	}
	return words
}

// A client may read a command after it has reported an error, or after the callers have given up: an AutoPipeliner
// does. So the command's memory is not used again.
func TestMemoryThatTheClientMayReadIsNotReused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requests int
		answer   func(slow chan struct{}) (any, error)
	}{
		"a batch that failed": {3, func(chan struct{}) (any, error) { return nil, errors.New("broken") }},
		"a batch that was late": {3,
			func(slow chan struct{}) (any, error) { <-slow; return nil, errors.New("broken") }},
		"one by itself that failed": {1, func(chan struct{}) (any, error) { return nil, errors.New("broken") }},
		"one by itself, late": {1,
			func(slow chan struct{}) (any, error) { <-slow; return nil, errors.New("broken") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				thaw, slow := make(chan struct{}), make(chan struct{})
				bt := newBatcherTest(t, answerAfter(thaw))
				startTakes := func(size int) (wait func()) {
					var callers sync.WaitGroup
					for range size {
						callers.Go(func() {
							ctx, cancel := context.WithTimeout(context.Background(), time.Second)
							defer cancel()
							_, _ = bt.e.Take(ctx, newRequest())
						})
					}
					return callers.Wait
				}
				for range maxSenders {
					bt.take(time.Hour)
					synctest.Wait()
				}
				wait := startTakes(c.requests)
				synctest.Wait()
				var failed *sentScript
				var before []string
				bt.answer = func(s *sentScript) (any, error) {
					bt.mu.Lock()
					first := failed == nil
					if first {
						failed, before = s, wordsOf(s)
					}
					bt.mu.Unlock()
					if first {
						return c.answer(slow)
					}
					return granted(s)
				}
				close(thaw)
				wait()
				for range 20 {
					startTakes(20)()
				}
				for range 2 { // both senders have large batches
					for _, o := range bt.startBatch(time.Minute, 2*maxBatch, 0, func(s *sentScript) (any, error) {
						time.Sleep(time.Millisecond)
						return granted(s)
					}) {
						<-o.done
					}
				}
				if n := failed.requests(); n != c.requests {
					t.Fatalf("the script had %d requests, want %d", n, c.requests)
				}
				if now := wordsOf(failed); !slices.Equal(now, before) {
					t.Errorf("the command was\n%q\nand is now\n%q", before, now)
				}
				close(slow)
				bt.close()
			})
		})
	}
}

// Each request is reported once, at whatever step its deadline passes.
func TestEachRequestHasOneOutcome(t *testing.T) {
	t.Parallel()
	bt := newBatcherTest(t, granted)
	var all []*outcome
	for range 200 {
		for range 50 {
			limit := rand.N(100 * time.Microsecond)
			if rand.IntN(2) == 0 {
				all = append(all, bt.take(limit))
			} else {
				all = append(all, bt.release(limit))
			}
		}
		for _, o := range all[len(all)-50:] {
			<-o.done
		}
	}
	bt.close()
	for _, o := range all {
		if n := o.times.Load(); n != 1 {
			t.Errorf("done was called %d times", n)
		}
	}
}
