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

// reads is what a client reads of a command.
func reads(s *shipment) (words []string) {
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

// A client may read a command after it has reported an error, or when nobody waits for the answer any more: an AutoPipeliner does. So its memory is
// not used again.
func TestWhatTheClientMayStillReadIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		errands int
		answer  func(slow chan struct{}) (any, error)
	}{
		"a batch that failed":       {3, func(chan struct{}) (any, error) { return nil, errors.New("broken") }},
		"a batch that was late":     {3, func(slow chan struct{}) (any, error) { <-slow; return nil, errors.New("broken") }},
		"one by itself that failed": {1, func(chan struct{}) (any, error) { return nil, errors.New("broken") }},
		"one by itself, late":       {1, func(slow chan struct{}) (any, error) { <-slow; return nil, errors.New("broken") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				thaw, slow := make(chan struct{}), make(chan struct{})
				d := newDesk(t, stuck(thaw))
				crowd := func(size int) (wait func()) {
					var callers sync.WaitGroup
					for range size {
						callers.Go(func() {
							ctx, cancel := context.WithTimeout(context.Background(), time.Second)
							defer cancel()
							_, _ = d.e.Take(ctx, asking())
						})
					}
					return callers.Wait
				}
				for range mostBusy {
					d.take(time.Hour)
					synctest.Wait()
				}
				wait := crowd(c.errands)
				synctest.Wait()
				var bad *shipment
				var before []string
				d.answer = func(s *shipment) (any, error) {
					d.mu.Lock()
					first := bad == nil
					if first {
						bad, before = s, reads(s)
					}
					d.mu.Unlock()
					if first {
						return c.answer(slow)
					}
					return granted(s)
				}
				close(thaw)
				wait()
				for range 20 {
					crowd(20)()
				}
				for range 2 { // both couriers carry much
					for _, o := range d.batch(time.Minute, 2*mostErrands, 0, func(s *shipment) (any, error) {
						time.Sleep(time.Millisecond)
						return granted(s)
					}) {
						<-o.done
					}
				}
				if n := bad.errands(); n != c.errands {
					t.Fatalf("the script did %d errands, want %d", n, c.errands)
				}
				if now := reads(bad); !slices.Equal(now, before) {
					t.Errorf("what was\n%q\nis now\n%q", before, now)
				}
				close(slow)
				d.close()
			})
		})
	}
}

// done is called once for each errand, however close its end is to each step of its way.
func TestEachErrandHasOneOutcome(t *testing.T) {
	t.Parallel()
	d := newDesk(t, granted)
	var all []*outcome
	for range 200 {
		for range 50 {
			limit := rand.N(100 * time.Microsecond)
			if rand.IntN(2) == 0 {
				all = append(all, d.take(limit))
			} else {
				all = append(all, d.release(limit))
			}
		}
		for _, o := range all[len(all)-50:] {
			<-o.done
		}
	}
	d.close()
	for _, o := range all {
		if n := o.times.Load(); n != 1 {
			t.Errorf("done was called %d times", n)
		}
	}
}
