package leasehold_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// removals returns the records.
func removals(t *testing.T, c *leasehold.Client) []leasehold.Removal {
	t.Helper()
	all, err := c.Removals(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// removedAs expects one record, with this outcome.
func removedAs(t *testing.T, c *leasehold.Client, want leasehold.Outcome) leasehold.Removal {
	t.Helper()
	all := removals(t, c)
	if len(all) != 1 || all[0].Outcome != want {
		t.Fatalf("on record is %+v, want one that was %s", all, want)
	}
	return all[0]
}

func (s *spy) methods() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		all = append(all, c.method)
	}
	return all
}

// on returns a hook that answers the requests of one method.
func on(method string, answer func() error) func(call) error {
	return func(c call) error {
		if c.method != method {
			return nil
		}
		return answer()
	}
}

func TestARemovalIsRecordedBeforeAndAfter(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		lease := take(t, newClient(t, e).Mutex("order:1").Lock)
		time.Sleep(1234567 * time.Nanosecond)
		now := time.Now()
		e.calls = nil
		operator := newClient(t, e, leasehold.WithHolder("an operator"))
		e.fail(on("ForceRelease", func() error {
			removedAs(t, operator, leasehold.RemovalAsked)
			return nil
		}))
		expect(t, operator.ForceRelease(t.Context(), leasehold.KindLock, "order:1", lease.Token(),
			leasehold.RemovedFor("it hangs"), leasehold.RemovedFrom("host-a:1 billing")), nil)
		if got, want := e.methods(), []string{"Record", "ForceRelease", "Records", "Record"}; !slices.Equal(got, want) {
			t.Errorf("the requests were %q, want %q", got, want)
		}
		got := removedAs(t, newClient(t, e), leasehold.RemovalDone)
		if got.ID == "" || !got.At.Equal(now.Truncate(time.Microsecond)) || got.At.Location() != time.UTC {
			t.Errorf("it is %q, of %v, want an ID and %v", got.ID, got.At, now)
		}
		want := leasehold.Removal{ID: got.ID, At: got.At, Key: driver.Key{Kind: driver.Lock, Name: "order:1"},
			Token:  lease.Token(),
			Holder: "host-a:1 billing", By: "an operator", Why: "it hangs", Outcome: leasehold.RemovalDone}
		if got != want {
			t.Errorf("on record is\n%+v, want\n%+v", got, want)
		}
	})
}

func TestARemovalSaysWhoDidIt(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		first, second := take(t, c.Mutex("a").Lock), take(t, permits(c.Semaphore("b", 3), 2))
		expect(t, c.ForceRelease(t.Context(), leasehold.KindLock, "a", first.Token()), nil)
		if by := removedAs(t, c, leasehold.RemovalDone).By; !isSelf(by, "") {
			t.Errorf("by default it was removed by %q", by)
		}
		time.Sleep(time.Second)
		expect(t, c.ForceRelease(t.Context(), leasehold.KindSemaphore, "b", second.Token(), leasehold.RemovedBy("ada")),
			nil)
		all := removals(t, c)
		if len(all) != 2 || all[0].By != "ada" || all[0].Kind != leasehold.KindSemaphore || all[0].ID == all[1].ID {
			t.Errorf("on record is %+v", all)
		}
	})
}

// The removal is that of the call, whatever an option does.
func TestAnOptionSaysNothingElse(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		lease, other := take(t, c.Mutex("a").Lock), take(t, c.Mutex("b").Lock)
		expect(t, c.ForceRelease(t.Context(), leasehold.KindLock, "a", lease.Token(), func(r *leasehold.Removal) {
			*r = leasehold.Removal{Key: driver.Key{Kind: driver.Lock, Name: "b"}, Token: other.Token(), By: "me",
				Outcome: leasehold.RemovalGone}
		}), nil)
		got := removedAs(t, c, leasehold.RemovalDone)
		if got.Name != "a" || got.Token != lease.Token() || got.ID == "" || got.At.IsZero() || got.By != "me" {
			t.Errorf("on record is %+v", got)
		}
		expect(t, other.Extend(t.Context(), time.Minute), nil)
	})
}

func TestOutcomesOfARemoval(t *testing.T) {
	fails := func(answer func() error) func(*spy) { return func(e *spy) { e.fail(on("ForceRelease", answer)) } }
	answers := func(err error) func(*spy) { return fails(func() error { return err }) }
	loses := func(method string) func(*spy) {
		return func(e *spy) { e.loseReplies(on(method, func() error { return errLost })) }
	}
	silent := fails(func() error { time.Sleep(time.Hour); return errLost })
	for name, test := range map[string]struct {
		plan    func(e *spy)
		outcome leasehold.Outcome
		err     error
		records int
		free    bool
	}{
		"done":      {func(*spy) {}, leasehold.RemovalDone, nil, 2, true},
		"gone":      {answers(driver.ErrNotHeld), leasehold.RemovalGone, leasehold.ErrLost, 2, false},
		"refused":   {answers(permanent), leasehold.RemovalRefused, leasehold.ErrUnavailable, 2, false},
		"not done":  {answers(driver.NoEffect(errLost)), leasehold.RemovalRefused, leasehold.ErrUnavailable, 2, false},
		"not known": {loses("ForceRelease"), leasehold.RemovalAsked, leasehold.ErrUnavailable, 1, true},
		"silence":   {silent, leasehold.RemovalAsked, leasehold.ErrUnavailable, 1, false},
		"meant":     {loses("Record"), leasehold.RemovalAsked, leasehold.ErrUnavailable, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				c := newClient(t, e)
				lease := take(t, c.Mutex("n", leasehold.NoRenew(), leasehold.TTL(2*time.Hour)).Lock)
				test.plan(e)
				err := c.ForceRelease(t.Context(), leasehold.KindLock, "n", lease.Token())
				if test.err == nil {
					if err != nil {
						t.Error(err)
					}
				} else {
					expectOnly(t, err, test.err)
					if failed, ok := errors.AsType[*leasehold.Error](err); !ok || failed.Name != "n" ||
						failed.Kind != leasehold.KindLock {
						t.Errorf("the error does not say what it is about: %v", err)
					}
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
				time.Sleep(time.Hour)
			})
		})
	}
}

// Without a record nothing is taken away.
func TestARemovalThatCannotBeRecorded(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		lease := take(t, c.Mutex("n").Lock)
		for _, refused := range []error{errLost, permanent, driver.NoEffect(errLost)} {
			e.fail(on("Record", func() error { return refused }))
			err := c.ForceRelease(t.Context(), leasehold.KindLock, "n", lease.Token())
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
	onBoth(t, func(t *testing.T, e *spy) {
		var log bytes.Buffer
		c := newClient(t, e, leasehold.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		lease := take(t, c.Mutex("n").Lock)
		records := 0
		e.fail(on("Record", func() error {
			if records++; records == 2 {
				return errLost
			}
			return nil
		}))
		err := c.ForceRelease(t.Context(), leasehold.KindLock, "n", lease.Token())
		if err != nil {
			t.Error(err)
		}
		removedAs(t, c, leasehold.RemovalAsked)
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
	onBoth(t, func(t *testing.T, e *spy) {
		e.can.Prompt = true
		c := newClient(t, e)
		lease := take(t, c.Mutex("n").Lock)
		ctx, cancel := context.WithCancel(t.Context())
		e.loseReplies(on("ForceRelease", func() error { cancel(); return nil }))
		if err := c.ForceRelease(ctx, leasehold.KindLock, "n", lease.Token()); err != nil {
			t.Error(err)
		}
		removedAs(t, c, leasehold.RemovalDone)
	})
}

func TestARemovalByACallerThatHasGone(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		lease := take(t, c.Mutex("n").Lock)
		ctx, cancel := context.WithCancel(t.Context())
		e.loseReplies(on("Record", func() error { cancel(); return nil }))
		expectOnly(t, c.ForceRelease(ctx, leasehold.KindLock, "n", lease.Token()), context.Canceled)
		expectOnly(t, c.ForceRelease(ctx, leasehold.KindLock, "n", lease.Token()), context.Canceled)
		if record, release := e.sent("Record"), e.sent("ForceRelease"); record != 1 || release != 0 {
			t.Errorf("%d records and %d releases were sent", record, release)
		}
		removedAs(t, c, leasehold.RemovalAsked)
	})
}
