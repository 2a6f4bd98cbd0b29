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
		_, err := e.Wait(ctx, joining("waiter"))
		if waited := time.Since(began); err != nil || waited > 9*time.Second+ttl {
			t.Errorf("%v after %v, want a grant soon after no request of the outage can be under way", err, waited)
		}
		if err == nil {
			s.release(e, "waiter")
		}
		time.Sleep(time.Second)
	})
}
