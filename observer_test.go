package leasehold_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// events is an observer that records everything.
type events struct {
	mu  sync.Mutex
	all []any
}

func (e *events) record(event any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) ObserveGrant(g leasehold.Granted)    { e.record(g) }
func (e *events) ObserveWait(w leasehold.Waiting)     { e.record(w) }
func (e *events) ObserveFail(f leasehold.Failed)      { e.record(f) }
func (e *events) ObserveRenew(r leasehold.Renewed)    { e.record(r) }
func (e *events) ObserveDanger(d leasehold.InDanger)  { e.record(d) }
func (e *events) ObserveLost(l leasehold.Lost)        { e.record(l) }
func (e *events) ObserveRelease(r leasehold.Released) { e.record(r) }

// eventsOf returns the events of one type, in order.
func eventsOf[T any](e *events) (of []T) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.all {
		if event, ok := event.(T); ok {
			of = append(of, event)
		}
	}
	return of
}

// waiting returns how many calls wait, according to the events.
func (e *events) waiting() (n int) {
	for _, w := range eventsOf[leasehold.Waiting](e) {
		if !w.Again {
			n++
		}
	}
	for _, g := range eventsOf[leasehold.Granted](e) {
		if g.AfterWait {
			n--
		}
	}
	for _, f := range eventsOf[leasehold.Failed](e) {
		if f.AfterWait {
			n--
		}
	}
	return n
}

// balance expects that each granted lease has ended once, under the same label, and that each wait has.
func (e *events) balance(t *testing.T) {
	t.Helper()
	if n := e.waiting(); n != 0 {
		t.Errorf("by the events, %d calls wait; none does", n)
	}
	held := map[string]int{}
	for _, g := range eventsOf[leasehold.Granted](e) {
		held[g.Label]++
	}
	for _, l := range eventsOf[leasehold.Lost](e) {
		held[l.Label]--
	}
	for _, r := range eventsOf[leasehold.Released](e) {
		held[r.Label]--
	}
	for label, n := range held {
		if n != 0 {
			t.Errorf("by the events, %d leases of class %q are held; none is", n, label)
		}
	}
}

// one expects that there was one event of a type, and returns it.
func one[T any](t *testing.T, e *events) T {
	t.Helper()
	of := eventsOf[T](e)
	if len(of) != 1 {
		t.Fatalf("observed %d times: %T, want once: %+v", len(of), *new(T), of)
	}
	return of[0]
}

func TestObserversAreToldOfGrantAndRelease(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen, also events
		c := newClient(t, e, leasehold.WithObserver(&seen), leasehold.WithObserver(&also))
		held := take(t, newClient(t, e).Mutex("order:1").Lock)
		waiting := start(t.Context(), c.RWMutex("order:1", leasehold.Label("order")).RLock)
		time.Sleep(2 * time.Second)
		release(t, held)
		lease := waiting.wantValue(t)
		time.Sleep(3 * time.Second)
		release(t, lease)
		release(t, lease)

		about := leasehold.About{Kind: driver.Lock, Name: "order:1", Label: "order", Shared: true}
		granted := leasehold.Granted{About: about, Context: t.Context(), Token: lease.Token(), Waited: 2 * time.Second,
			AfterWait: true}
		if got, want := one[leasehold.Granted](t, &seen), granted; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		want := leasehold.Released{About: about, Token: lease.Token(), Held: 3 * time.Second}
		if got := one[leasehold.Released](t, &seen); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := one[leasehold.Waiting](t, &seen); got != (leasehold.Waiting{About: about, Context: t.Context()}) {
			t.Errorf("got %+v, want a wait for the engine, without a reason", got)
		}
		if len(seen.all) != 3 || len(also.all) != 3 {
			t.Errorf("observed %+v and %+v", seen.all, also.all)
		}
	})
}

// A call that waits for another reason than other holders is told the reason, at once and in its error.
func TestReasonForWaiting(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		closed := errors.New("nothing is granted before noon")
		e.loseReplies(func(c call) error {
			if c.method == "Take" && c.name == "order:1" {
				return fmt.Errorf("%w: %w", driver.ErrHeld, closed)
			}
			return nil
		})
		var seen events
		c := newClient(t, e, leasehold.WithObserver(&seen))
		for _, name := range []string{"order:1", "order:2"} {
			held := take(t, newClient(t, e.Engine).Mutex(name).Lock)
			m := c.Mutex(name, leasehold.WaitLimit(time.Second))
			_, refused := m.TryLock(t.Context())
			_, late := m.Lock(t.Context())
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, gone := m.Lock(ctx)
			cancel()
			wantErr(t, refused, leasehold.ErrHeld)
			wantErr(t, late, leasehold.ErrTimeout)
			wantErr(t, gone, context.DeadlineExceeded)
			waits := eventsOf[leasehold.Waiting](&seen)
			if len(waits) != 2 {
				t.Fatalf("observed %d waits, want 2: %+v", len(waits), waits)
			}
			seen.all = nil
			why := name == "order:1"
			for _, err := range []error{refused, late, gone, waits[0].Reason, waits[1].Reason} {
				if errors.Is(err, closed) != why {
					t.Errorf("%s: got %v", name, err)
				}
			}
			release(t, held)
		}
	})
}

// A call that waits for one reason, and then for another, is told both, and its error has the latest.
func TestReasonForWaitingChanges(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		closed := errors.New("nothing is granted before noon")
		var seen events
		m := newClient(t, e, leasehold.WithObserver(&seen)).Mutex("order:1", leasehold.WaitLimit(time.Second))
		held := take(t, newClient(t, e.Engine).Mutex("order:1").Lock)
		for _, last := range []error{fmt.Errorf("%w: %w", driver.ErrHeld, closed), driver.ErrHeld} {
			refusals := make(chan error, 3) // of Wait, one after the other
			refusals <- fmt.Errorf("%w: %w", driver.ErrHeld, closed)
			refusals <- driver.ErrHeld
			refusals <- last
			e.fail(func(c call) error {
				if c.method != "Wait" || len(refusals) == 0 {
					return nil
				}
				return <-refusals
			})
			seen.all = nil
			_, err := m.Lock(t.Context())
			wantErr(t, err, leasehold.ErrTimeout)
			if why := last != driver.ErrHeld; errors.Is(err, closed) != why {
				t.Errorf("%v, want the reason at the end: %v", err, why)
			}
			var got []bool
			for i, w := range eventsOf[leasehold.Waiting](&seen) {
				if got = append(got, errors.Is(w.Reason, closed)); w.Again != (i > 0) {
					t.Errorf("event %d: Again is %v", i, w.Again)
				}
			}
			want := []bool{false, true, false}
			if last != driver.ErrHeld {
				want = append(want, true)
			}
			if !slices.Equal(got, want) {
				t.Errorf("told that nothing is granted: %v, want %v", got, want)
			}
		}
		release(t, held)
	})
}

func TestObserversAreToldOfFailures(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		c := newClient(t, e, leasehold.WithObserver(&seen))
		take(t, permits(newClient(t, e).Semaphore("rooms", 2), 2))
		s := c.Semaphore("rooms", 2, leasehold.Label("room"), leasehold.WaitLimit(time.Second))
		_, refused := s.TryAcquire(t.Context(), 1)
		_, timeout := s.Acquire(t.Context(), 2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, gone := s.Acquire(ctx, 2)
		e.fail(func(call) error { return errLost })
		_, unavailable := s.Acquire(t.Context(), 2)
		e.fail(nil)
		failures := eventsOf[leasehold.Failed](&seen)
		want := []error{refused, timeout, gone, unavailable}
		if waits := eventsOf[leasehold.Waiting](&seen); len(waits) != 1 || len(failures) != len(want) ||
			len(seen.all) != len(want)+1 {
			t.Fatalf("observed %+v", seen.all)
		}
		for i, f := range failures {
			if f.Err != want[i] || f.AfterWait != (i == 1) || f.Label != "room" || f.Kind != driver.Semaphore ||
				f.Name != "rooms" {
				t.Errorf("got %+v, want %v", f, want[i])
			}
		}
		if failures[1].Waited != time.Second {
			t.Errorf("the second has waited %v", failures[1].Waited)
		}
	})
}

// An invalid call says nothing about the lock.
func TestObserversAreNotToldOfBadInput(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		c := newClient(t, e, leasehold.WithObserver(&seen))
		c.Mutex("").Lock(t.Context())
		c.Mutex("n", leasehold.TTL(0)).TryLock(t.Context())
		c.Semaphore("n", 1).Acquire(t.Context(), 2)
		if len(seen.all) != 0 {
			t.Errorf("observed %+v", seen.all)
		}
	})
}

func TestObserversAreToldOfRenewalDangerAndLoss(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		c := newClient(t, e, leasehold.WithObserver(&seen))
		lease := take(t, c.Mutex("order:1", leasehold.Label("order"), leasehold.TTL(9*time.Second)).Lock)
		time.Sleep(3100 * time.Millisecond)
		renewed := one[leasehold.Renewed](t, &seen)
		if renewed.Err != nil || renewed.Token != lease.Token() || renewed.Label != "order" ||
			renewed.Slack < 5*time.Second || renewed.Slack > 6*time.Second {
			t.Errorf("got %+v", renewed)
		}
		e.fail(func(c call) error {
			if c.method == "Renew" {
				return errLost
			}
			return nil
		})
		lost := lease.Deadline()
		<-lease.Context().Done()
		if late := time.Since(lost); late > 0 {
			t.Errorf("the context ended %v after the deadline", late)
		}
		for _, r := range eventsOf[leasehold.Renewed](&seen)[1:] {
			expectOnly(t, r.Err, leasehold.ErrUnavailable)
		}
		danger := one[leasehold.InDanger](t, &seen)
		if danger.Token != lease.Token() || danger.Label != "order" || danger.Left < 2900*time.Millisecond ||
			danger.Left > 3*time.Second {
			t.Errorf("got %+v", danger)
		}
		expect(t, lease.Release(), leasehold.ErrLost)
		loss := one[leasehold.Lost](t, &seen)
		if loss.Token != lease.Token() || loss.Label != "order" || loss.Cause != leasehold.ErrLost ||
			loss.How != leasehold.LossDeadline || loss.Reason == "" || loss.Held < 11*time.Second {
			t.Errorf("got %+v", loss)
		}
		if len(eventsOf[leasehold.Released](&seen)) != 0 {
			t.Error("a lost lease was released, too")
		}
		seen.balance(t)
	})
}

func TestDangerIsObservedAgainOnlyAfterARenewal(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		m := newClient(t, e, leasehold.WithObserver(&seen)).Mutex("order", leasehold.TTL(9*time.Second))
		lease := take(t, m.Lock)
		for round := 1; round <= 2; round++ {
			e.fail(func(c call) error {
				if c.method == "Renew" {
					return errLost
				}
				return nil
			})
			for len(eventsOf[leasehold.InDanger](&seen)) < round {
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(time.Second)
			e.fail(nil)
			time.Sleep(2 * time.Second)
			if n := len(eventsOf[leasehold.InDanger](&seen)); n != round {
				t.Fatalf("danger was observed %d times in %d rounds", n, round)
			}
			wantCause(t, lease.Context(), nil)
		}
	})
}

func TestObserversAreToldOfAHandOver(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		m := newClient(t, e, leasehold.WithObserver(&seen)).Mutex("order")
		before, lease, waiting := handedOver(t, m, 1)
		release(t, lease)
		release(t, waiting[0].wantValue(t))
		var handed []bool
		for _, g := range eventsOf[leasehold.Granted](&seen) {
			handed = append(handed, g.HandedOver)
		}
		if fmt.Sprint(handed) != "[false false true true]" {
			t.Errorf("handed over: %v", handed)
		}
		released := eventsOf[leasehold.Released](&seen)
		if released[1].Token != before.Token() || released[2].Token != lease.Token() {
			t.Errorf("released %+v", released)
		}
		seen.balance(t)
	})
}

// Each caller counts under its own label, even if the lease was handed over by one with another label.
func TestLabelsDoNotMixWhenALeaseIsHandedOver(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		c := newClient(t, e, leasehold.WithObserver(&seen))
		labelled := func(label string) asker { return c.Mutex("n", leasehold.Label(label)).Lock }
		held := take(t, labelled("a"))
		waiting := queueUp(t, labelled("a"), labelled("b"), labelled("b"), labelled("a"))
		release(t, held)
		for _, o := range waiting {
			release(t, o.wantValue(t))
		}
		seen.balance(t)
	})
}

func TestReentryIsNoGrant(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		c := newClient(t, e, leasehold.WithObserver(&seen))
		outer := take(t, c.Mutex("order").Lock)
		inner, err := c.Mutex("order").Lock(outer.Context())
		expect(t, err, nil)
		release(t, inner)
		release(t, outer)
		seen.balance(t)
	})
}

func TestCloseEndsLeasesForObserversToo(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		c := newClient(t, e, leasehold.WithObserver(&seen))
		take(t, c.Mutex("order").Lock)
		take(t, permits(c.Semaphore("rooms", 3), 2))
		expect(t, c.Close(), nil)
		seen.balance(t)
	})
}

// An observer implements only what it needs.
func TestAnObserverIsToldOnlyWhatItImplements(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		grants := make(grantsOnly, 1)
		c := newClient(t, e, leasehold.WithObserver(grants))
		lease := take(t, c.Mutex("order").Lock)
		release(t, lease)
		if g := <-grants; g.Token != lease.Token() {
			t.Errorf("got %+v", g)
		}
	})
}

type grantsOnly chan leasehold.Granted

func (o grantsOnly) ObserveGrant(g leasehold.Granted) { o <- g }

// An owner is enough to release its lock. It must not be visible anywhere.
func TestOwnersAreSeenNowhere(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		var out lockedBuffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c := newClient(t, e, leasehold.WithObserver(&seen), leasehold.WithLogger(log))
		show := func(values ...any) {
			for _, v := range values {
				fmt.Fprintf(&out, "%v\n%+v\n%#v\n", v, v, v)
				log.Info("shown", "value", v)
			}
		}
		m := c.Mutex("order")
		lost, refused := take(t, m.Lock), start(t.Context(), c.RWMutex("order", leasehold.WaitLimit(time.Hour)).RLock)
		refused.wantWaiting(t)
		status, err := admin.New(e).Inspect(t.Context(), "order")
		show(m, lost, lost.Context(), status, err)
		derived, cancel := context.WithTimeout(lost.Context(), time.Hour)
		defer cancel()
		show(derived)
		lose(t, e, driver.Lock, lost)
		show(lost.Release(), context.Cause(lost.Context()))
		release(t, refused.wantValue(t))

		e.fail(func(call) error { return errLost }) // everything that can fail
		_, err = m.Lock(t.Context())
		show(err)
		_, err = c.Latch("start").CountDown(t.Context())
		show(err)
		e.fail(nil)
		endangered := take(t, m.Lock)
		e.fail(func(call) error { return driver.NoEffect(errLost) })
		show(endangered.Extend(t.Context(), time.Minute), endangered.Downgrade(t.Context()))
		<-endangered.Context().Done()
		time.Sleep(5 * leasehold.DefaultTTL) // until the clean-up gives up
		e.fail(nil)
		set := takeAll(t, c, "a", "b")
		show(set, c.Close(), set.Release())
		for _, event := range seen.all {
			show(event)
		}

		text := out.String()
		for _, must := range []string{"lease lost", "lease in danger", "clean-up given up"} {
			if !strings.Contains(text, must) {
				t.Errorf("the test has not made the client say %q", must)
			}
		}
		if len(e.owners()) < 6 {
			t.Errorf("only %d owners were in use", len(e.owners()))
		}
		for _, owner := range e.owners() {
			if strings.Contains(text, owner) {
				at := strings.Index(text, owner)
				t.Errorf("an owner is seen: …%s…", text[max(0, at-200):at+len(owner)])
			}
		}
	})
}

// lockedBuffer is a buffer for concurrent writers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestAnObserverThatObservesNothingIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		for _, o := range []any{struct{}{}, nil, 7} {
			_, err := newClient(t, e, leasehold.WithObserver(o)).Mutex("order").Lock(t.Context())
			var v *leasehold.ValueError
			if !errors.As(err, &v) || v.Field != "observer" {
				t.Errorf("%T: got error %v", o, err)
			}
		}
	})
}
