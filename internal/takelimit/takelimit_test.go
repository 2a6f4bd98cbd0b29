package takelimit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

func newServers(route func(driver.Key) uint32) *Servers {
	s := new(Servers)
	s.Init(route)
	return s
}

// admit admits n takes, which must not wait.
func admit(t *testing.T, l *Limiter, n int) {
	t.Helper()
	for range n {
		began := time.Now()
		if rest, err := l.Admit(t.Context(), t.Context(), time.Second); err != nil || rest != time.Second {
			t.Fatalf("admitted with %v, %v", rest, err)
		}
		if time.Since(began) > 0 {
			t.Fatal("a take below the limit waited")
		}
	}
}

// expectRefused checks that a take is refused after half of its time.
func expectRefused(t *testing.T, l *Limiter) {
	t.Helper()
	began := time.Now()
	if _, err := l.Admit(t.Context(), t.Context(), time.Second); err != errRefused || !driver.HadNoEffect(err) {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(began); took != time.Second/2 {
		t.Fatalf("refused after %v", took)
	}
}

func TestTakesAboveTheLimitWaitInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newServers(nil).For(driver.Key{})
		admit(t, l, initialTakes)
		order := make(chan int, 2)
		for i := range 2 {
			go func() {
				rest, err := l.Admit(t.Context(), t.Context(), time.Minute)
				if want := time.Minute - []time.Duration{2000, 1500}[i]*time.Millisecond; err != nil || rest != want {
					t.Errorf("admitted with %v, %v", rest, err)
				}
				order <- i
			}()
			time.Sleep(time.Second)
		}
		l.Done(false) // no answer: the limit does not grow, and one is admitted
		synctest.Wait()
		if len(order) != 1 || <-order != 0 {
			t.Error("the first one was not admitted first")
		}
		expectRefused(t, l) // behind the other
		l.Done(true)
		if <-order != 1 {
			t.Error("not in order")
		}
	})
}

func TestTheLimitGrowsWhileCallersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newServers(nil).For(driver.Key{})
		admit(t, l, initialTakes)
		for range 10 {
			go func() { _, _ = l.Admit(t.Context(), t.Context(), time.Hour) }()
		}
		synctest.Wait()
		l.Done(true)
		if l.maxInFlight != initialTakes+1 || l.waiters.Len() != 8 {
			t.Errorf("limit %d, %d wait", l.maxInFlight, l.waiters.Len())
		}
		for range 8 {
			l.Done(false)
		}
		synctest.Wait()
		l.Done(true) // nobody waits
		if l.maxInFlight != initialTakes+1 {
			t.Errorf("limit %d", l.maxInFlight)
		}
	})
}

// A late renewal lowers the limit, whether it is in flight, has failed, or was not sent in time.
func TestLateRenewalsLowerTheLimit(t *testing.T) {
	t.Parallel()
	for name, makeLate := range map[string]func(*Servers, *Limiter) func(){
		"in flight": func(_ *Servers, l *Limiter) func() { return renew(l, 1).NoteAnswer },
		"not sent": func(_ *Servers, l *Limiter) func() {
			first := renew(l, maxRenewals)
			for range maxRenewals / 2 { // it is not late itself
				first.NoteAnswer()
			}
			l.Renew(1, time.Minute, func(r *Renewals) { r.NoteAnswer(); r.End() })
			return first.End
		},
		"failed": func(_ *Servers, l *Limiter) func() {
			r := renew(l, 3)
			r.NoteAnswer()
			r.End()
			return func() { time.Sleep(time.Minute) }
		},
		"process": func(s *Servers, _ *Limiter) func() {
			s.NoteDelay(lateAfter(time.Hour)+1, time.Hour)
			s.NoteDelay(time.Minute, time.Minute) // no longer than before
			return func() { time.Sleep(time.Hour) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServers(nil)
				l := s.For(driver.Key{})
				end := makeLate(s, l)
				time.Sleep(10 * time.Second)
				admit(t, l, minTakes)
				expectRefused(t, l)
				end()
				expectRefused(t, l) // the limit only grows with answers
				for range minTakes {
					l.Done(true)
				}
				admit(t, l, minTakes)
			})
		})
	}
}

func TestRenewalsThatAreAnsweredInTimeChangeNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServers(nil)
		l := s.For(driver.Key{})
		s.NoteDelay(lateAfter(time.Minute), time.Minute)
		for n, answers := range map[int]int{1: 1, 3: 2, 4: 2, 5: 5} { // half of a batch is enough
			r := renew(l, n)
			time.Sleep(lateAfter(time.Minute))
			for range answers {
				r.NoteAnswer()
			}
			time.Sleep(time.Minute)
			r.End()
		}
		time.Sleep(time.Minute)
		admit(t, l, initialTakes)
	})
}

func TestTheWaitEndsWithTheCallerAndTheClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newServers(nil).For(driver.Key{})
		admit(t, l, initialTakes)
		errEnded := errors.New("ended")
		ended, end := context.WithCancelCause(t.Context())
		end(errEnded)
		for _, c := range []struct{ ctx, lifetime context.Context }{{ended, t.Context()}, {t.Context(), ended}} {
			if _, err := l.Admit(c.ctx, c.lifetime, time.Hour); !errors.Is(err, errEnded) || !driver.HadNoEffect(err) {
				t.Errorf("got %v", err)
			}
		}
		if l.waiters.Len() != 0 {
			t.Error("they still wait")
		}
	})
}

func TestEachServerHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServers(func(k driver.Key) uint32 { return uint32(len(k.Name)) })
		one, two := s.For(driver.Key{Name: "1"}), s.For(driver.Key{Name: "22"})
		if one == two || one != s.For(driver.Key{Name: "x"}) {
			t.Fatal("the limits do not follow the servers")
		}
		renew(one, 1).End()
		admit(t, one, minTakes)
		expectRefused(t, one)
		admit(t, two, initialTakes)
	})
}
