package admin_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// removals returns the records.
func removals(t *testing.T, c *admin.Client) []admin.Removal {
	t.Helper()
	all, err := c.Removals(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// removedAs expects one record, with this outcome.
func removedAs(t *testing.T, c *admin.Client, want admin.Outcome) admin.Removal {
	t.Helper()
	all := removals(t, c)
	if len(all) != 1 || all[0].Outcome != want {
		t.Fatalf("on record is %+v, want one that was %s", all, want)
	}
	return all[0]
}

// self is the holder text of this process.
func self() string {
	host, _ := os.Hostname()
	return admin.Process{Host: host, PID: os.Getpid(), Program: filepath.Base(os.Args[0])}.String()
}

func TestForceReleaseTakesALockAway(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		c := admin.New(e)
		lease := take(t, newLocker(t, e).Mutex("n").Lock)
		began := time.Now()
		granted := startWaiting(t, newLocker(t, e).Mutex("n").Lock)

		expectOnly(t, c.ForceRelease(t.Context(), driver.Lock, "n", lease.Token()+1), leasehold.ErrLost)
		expectOnly(t, c.ForceRelease(t.Context(), driver.Semaphore, "n", lease.Token()), leasehold.ErrLost)
		wantWaiting(t, granted)
		expect(t, c.ForceRelease(t.Context(), driver.Lock, "n", lease.Token()), nil)
		next := <-granted

		<-lease.Context().Done() // at its next renewal
		expect(t, context.Cause(lease.Context()), leasehold.ErrLost)
		if took := time.Since(began); took > leasehold.DefaultTTL/3 {
			t.Errorf("the holder has learned of it after %v", took)
		}
		expect(t, lease.Release(), leasehold.ErrLost)
		if err := context.Cause(next.Context()); err != nil {
			t.Errorf("the next holder has lost it, too: %v", err)
		}
		// The previous token is of no use against the current holder.
		expect(t, c.ForceRelease(t.Context(), driver.Lock, "n", lease.Token()), leasehold.ErrLost)
		expect(t, next.Release(), nil)
	})
}

func TestForceReleaseGivesPermitsBack(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		s := newLocker(t, e).Semaphore("rooms", 3)
		lost, kept := take(t, permits(s, 2)), take(t, permits(s, 1))
		expect(t, admin.New(e).ForceRelease(t.Context(), driver.Semaphore, "rooms", lost.Token()), nil)
		<-lost.Context().Done()
		expect(t, context.Cause(lost.Context()), leasehold.ErrLost)
		if err := context.Cause(kept.Context()); err != nil {
			t.Errorf("the other permits are lost, too: %v", err)
		}
		expect(t, take(t, permits(s, 2)).Release(), nil)
	})
}

func TestARemovalIsRecordedBeforeAndAfter(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		lease := take(t, newLocker(t, e).Mutex("order:1").Lock)
		time.Sleep(1234567 * time.Nanosecond)
		now := time.Now()
		e.forget()
		operator := admin.New(e)
		e.fail(on("ForceRelease", func(context.Context) error {
			removedAs(t, operator, admin.RemovalAsked)
			return nil
		}))
		err := operator.ForceRelease(t.Context(), driver.Lock, "order:1", lease.Token(),
			admin.WithOperator("an operator"), admin.WithReason("it hangs"), admin.WithHolderText("host-a:1 billing"))
		expect(t, err, nil)
		if got, want := e.methods(), []string{"Record", "ForceRelease", "Records", "Record"}; !slices.Equal(got, want) {
			t.Errorf("the requests were %q, want %q", got, want)
		}
		got := removedAs(t, admin.New(e), admin.RemovalDone)
		if got.ID == "" || !got.At.Equal(now.Truncate(time.Microsecond)) || got.At.Location() != time.UTC {
			t.Errorf("it is %q, of %v, want an ID and %v", got.ID, got.At, now)
		}
		want := admin.Removal{ID: got.ID, At: got.At, Key: driver.Key{Kind: driver.Lock, Name: "order:1"},
			Token:  lease.Token(),
			Holder: "host-a:1 billing", By: "an operator", Why: "it hangs", Outcome: admin.RemovalDone}
		if got != want {
			t.Errorf("on record is\n%+v, want\n%+v", got, want)
		}
	})
}

func TestARemovalSaysWhoDidIt(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		locker, c := newLocker(t, e), admin.New(e)
		first, second := take(t, locker.Mutex("a").Lock), take(t, permits(locker.Semaphore("b", 3), 2))
		expect(t, c.ForceRelease(t.Context(), driver.Lock, "a", first.Token()), nil)
		if by := removedAs(t, c, admin.RemovalDone).By; by != self() {
			t.Errorf("by default it was removed by %q", by)
		}
		time.Sleep(time.Second)
		expect(t, c.ForceRelease(t.Context(), driver.Semaphore, "b", second.Token(), admin.WithOperator("ada")),
			nil)
		all := removals(t, c)
		if len(all) != 2 || all[0].By != "ada" || all[0].Kind != driver.Semaphore || all[0].ID == all[1].ID {
			t.Errorf("on record is %+v", all)
		}
	})
}

// The removal is that of the call, whatever an option does.
func TestAnOptionSaysNothingElse(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		locker, c := newLocker(t, e), admin.New(e)
		lease, other := take(t, locker.Mutex("a").Lock), take(t, locker.Mutex("b").Lock)
		expect(t, c.ForceRelease(t.Context(), driver.Lock, "a", lease.Token(), func(r *admin.Removal) {
			*r = admin.Removal{Key: driver.Key{Kind: driver.Lock, Name: "b"}, Token: other.Token(), By: "me",
				Outcome: admin.RemovalGone}
		}), nil)
		got := removedAs(t, c, admin.RemovalDone)
		if got.Name != "a" || got.Token != lease.Token() || got.ID == "" || got.At.IsZero() || got.By != "me" {
			t.Errorf("on record is %+v", got)
		}
		expect(t, other.Extend(t.Context(), time.Minute), nil)
	})
}

func TestOutcomesOfARemoval(t *testing.T) {
	fails := func(answer func(context.Context) error) func(*spy) {
		return func(e *spy) { e.fail(on("ForceRelease", answer)) }
	}
	answers := func(err error) func(*spy) { return fails(func(context.Context) error { return err }) }
	loses := func(method string) func(*spy) {
		return func(e *spy) { e.loseReplies(on(method, func(context.Context) error { return errLost })) }
	}
	silent := fails(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	for name, test := range map[string]struct {
		plan    func(e *spy)
		outcome admin.Outcome
		err     error
		records int
		free    bool
	}{
		"done":      {func(*spy) {}, admin.RemovalDone, nil, 2, true},
		"gone":      {answers(driver.ErrNotHeld), admin.RemovalGone, leasehold.ErrLost, 2, false},
		"refused":   {answers(permanent), admin.RemovalRefused, leasehold.ErrUnavailable, 2, false},
		"not done":  {answers(driver.NoEffect(errLost)), admin.RemovalRefused, leasehold.ErrUnavailable, 2, false},
		"not known": {loses("ForceRelease"), admin.RemovalAsked, leasehold.ErrUnavailable, 1, true},
		"silence":   {silent, admin.RemovalAsked, leasehold.ErrUnavailable, 1, false},
		"meant":     {loses("Record"), admin.RemovalAsked, leasehold.ErrUnavailable, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *spy) {
				locker, c := newLocker(t, e), admin.New(e)
				lease := take(t, locker.Mutex("n", leasehold.NoRenew(), leasehold.TTL(2*time.Hour)).Lock)
				test.plan(e)
				err := c.ForceRelease(t.Context(), driver.Lock, "n", lease.Token())
				if test.err == nil {
					if err != nil {
						t.Error(err)
					}
				} else {
					expectOnly(t, err, test.err)
					expectAbout(t, err, driver.Lock, "n")
				}
				e.fail(nil)
				e.loseReplies(nil)
				removedAs(t, c, test.outcome)
				if n := e.sent("Record"); n != test.records {
					t.Errorf("it was recorded %d times, want %d", n, test.records)
				}
				if all, _ := c.Inspect(t.Context(), "n"); (len(all) == 0) != test.free {
					t.Errorf("held is %+v, want that it is free: %v", all, test.free)
				}
			})
		})
	}
}

// Without a record nothing is taken away.
func TestARemovalThatCannotBeRecorded(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		locker, c := newLocker(t, e), admin.New(e)
		lease := take(t, locker.Mutex("n").Lock)
		for _, refused := range []error{errLost, permanent, driver.NoEffect(errLost)} {
			e.fail(on("Record", func(context.Context) error { return refused }))
			err := c.ForceRelease(t.Context(), driver.Lock, "n", lease.Token())
			expectOnly(t, err, leasehold.ErrUnavailable)
			expect(t, err, refused)
		}
		if n := e.sent("ForceRelease"); n != 0 {
			t.Errorf("%d releases were sent", n)
		}
		expect(t, lease.Extend(t.Context(), time.Minute), nil)
	})
}

// A removal is not undone because its outcome was not recorded.
func TestAnOutcomeThatCannotBeRecorded(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		var log bytes.Buffer
		c := admin.New(e, admin.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		lease := take(t, newLocker(t, e).Mutex("n").Lock)
		records := 0
		e.fail(on("Record", func(context.Context) error {
			if records++; records == 2 {
				return errLost
			}
			return nil
		}))
		err := c.ForceRelease(t.Context(), driver.Lock, "n", lease.Token())
		if err != nil {
			t.Error(err)
		}
		removedAs(t, c, admin.RemovalAsked)
		said := log.String()
		for _, part := range []string{"outcome=removed", "name=n", errLost.Error()} {
			if strings.Count(said, part) != 1 || strings.Count(said, "\n") != 1 {
				t.Errorf("the log says %q, want one line with %q", said, part)
			}
		}
	})
}

// The outcome is recorded although the caller no longer waits.
func TestTheOutcomeIsRecordedAfterTheCallerHasGone(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		locker, c := newLocker(t, e), admin.New(e)
		lease := take(t, locker.Mutex("n").Lock)
		ctx, cancel := context.WithCancel(t.Context())
		e.loseReplies(on("ForceRelease", func(context.Context) error { cancel(); return nil }))
		if err := c.ForceRelease(ctx, driver.Lock, "n", lease.Token()); err != nil {
			t.Error(err)
		}
		removedAs(t, c, admin.RemovalDone)
	})
}

func TestARemovalByACallerThatHasGone(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		locker, c := newLocker(t, e), admin.New(e)
		lease := take(t, locker.Mutex("n").Lock)
		ctx, cancel := context.WithCancel(t.Context())
		e.loseReplies(on("Record", func(context.Context) error { cancel(); return nil }))
		expectOnly(t, c.ForceRelease(ctx, driver.Lock, "n", lease.Token()), context.Canceled)
		expectOnly(t, c.ForceRelease(ctx, driver.Lock, "n", lease.Token()), context.Canceled)
		if record, release := e.sent("Record"), e.sent("ForceRelease"); record != 1 || release != 0 {
			t.Errorf("%d records and %d releases were sent", record, release)
		}
		removedAs(t, c, admin.RemovalAsked)
	})
}
