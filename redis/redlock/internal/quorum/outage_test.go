package quorum

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A waiter outlasts a time in which no place can be reached.
func TestWaiterOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 3)
		holder := s.client(steady)
		s.take(holder, "holder")
		var out atomic.Bool
		e := s.client(network{plan: func(int, string) fate { return fate{lost: out.Load(), after: 10 * ms} }})
		if _, err := e.Take(t.Context(), joining("waiter")); !errors.Is(err, driver.ErrHeld) {
			t.Fatalf("%v, want ErrHeld", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			time.Sleep(3 * time.Second)
			out.Store(true)
			time.Sleep(3 * time.Second)
			out.Store(false)
			time.Sleep(3 * time.Second)
			s.release(holder, "holder")
		}()
		began := time.Now()
		g, err := e.Wait(ctx, joining("waiter"))
		if waited := time.Since(began); err != nil || waited > 11*time.Second {
			t.Errorf("%v after %v, want a grant soon after the release", err, waited)
		}
		if err == nil {
			s.give(e, joining("waiter"), g)
		}
		time.Sleep(time.Second)
	})
}
