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

// A waiter outlasts a time in which no node can be reached.
func TestWaiterOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		holder := s.client(steady)
		s.mustTake(holder, "holder")
		var out atomic.Bool
		e := s.client(
			networkPlan{plan: func(int, string) delivery { return delivery{lost: out.Load(), replyDelay: 10 * ms} }})
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
			s.mustRelease(holder, "holder")
		}()
		began := time.Now()
		g, err := e.Wait(ctx, joining("waiter"))
		if waited := time.Since(began); err != nil || waited > 11*time.Second {
			t.Errorf("%v after %v, want a grant soon after the release", err, waited)
		}
		if err == nil {
			s.releaseGrant(e, joining("waiter"), g)
		}
		time.Sleep(time.Second)
	})
}
