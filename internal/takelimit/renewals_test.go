package takelimit

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// renew sends n renewals, which may take a minute, and returns the batch.
func renew(l *Limiter, n int) *Renewals {
	sent := make(chan *Renewals, 1)
	l.Renew(n, time.Minute, func(r *Renewals) { sent <- r })
	return <-sent
}

func TestRenewalsAboveTheLimitWaitInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newServers(nil).For(driver.Key{})
		first, second := renew(l, maxRenewals-1), renew(l, 10) // the last batch may exceed the limit
		var sent []int
		batches := make(chan *Renewals, 3)
		for i := range 3 {
			if waits := l.HasUnsentRenewals(); waits != (i > 0) {
				t.Errorf("before batch %d some wait: %v", i, waits)
			}
			l.Renew(maxRenewals/2, time.Minute, func(r *Renewals) { sent = append(sent, i); batches <- r })
		}
		synctest.Wait()
		if len(sent) != 0 {
			t.Fatalf("%v were sent above the limit", sent)
		}
		second.End()
		synctest.Wait()
		if !slices.Equal(sent, []int{0}) {
			t.Fatalf("%v were sent, want the first", sent)
		}
		first.End()
		synctest.Wait()
		if !slices.Equal(sent, []int{0, 1}) {
			t.Fatalf("%v were sent, want two", sent)
		}
		(<-batches).End()
		(<-batches).End()
		(<-batches).End()
		if l.sentRenewals != 0 || l.HasUnsentRenewals() {
			t.Errorf("in the end %d are in flight", l.sentRenewals)
		}
	})
}
