package work

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestStopCountsWaitersThatAreNeverWoken(t *testing.T) {
	t.Parallel()
	var forgotten sync.WaitGroup
	forgotten.Add(2)
	all := startWorkers(t.Context(), 3, func(ctx context.Context, i int) error {
		if i == 0 {
			return pause(ctx, time.Millisecond)
		}
		forgotten.Done()
		<-ctx.Done()
		return ctx.Err()
	})
	forgotten.Wait()
	if left, err := all.stop(patience); left != 2 || err != nil {
		t.Errorf("%d are left (%v), want 2", left, err)
	}
}

func TestErrorEndsTheGroup(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	all := startWorkers(t.Context(), 3, func(ctx context.Context, i int) error {
		if i == 0 {
			return broken
		}
		<-ctx.Done()
		return ctx.Err()
	})
	<-all.ctx.Done()
	if _, err := all.stop(patience); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if err := pause(all.ctx, time.Hour); !errors.Is(err, broken) {
		t.Errorf("a pause of the group ended with %v, want %v", err, broken)
	}
}
