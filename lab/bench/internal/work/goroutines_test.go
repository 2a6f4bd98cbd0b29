package work

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/wire"
)

func TestGoroutinesEndWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	seen := make(chan int, 3)
	g := startAll(t.Context(), 3, func(ctx context.Context, i int) error {
		seen <- i
		if i == 1 {
			return broken
		}
		<-ctx.Done()
		return nil
	})
	if a, b, c := <-seen, <-seen, <-seen; a+b+c != 3 {
		t.Errorf("goroutines %d, %d and %d, want 0, 1 and 2", a, b, c)
	}
	if err := g.end(); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		commands int // one every 60 ms
		want     time.Duration
	}{
		"nothing is sent":   {0, 100 * time.Millisecond},
		"it comes to rest":  {3, 300 * time.Millisecond},
		"it never rests":    {1000, time.Second},
		"one was sent late": {1, 200 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var sent wire.Counter
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for range c.commands {
					if pause(ctx, 60*time.Millisecond) != nil {
						return
					}
					sent.Add(1)
				}
			}()
			began := time.Now()
			if err := awaitQuiet(ctx, &sent, 100*time.Millisecond, time.Second); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != c.want {
				t.Errorf("%s: it took %v, want %v", name, took, c.want)
			}
			cancel()
		})
	}
}
