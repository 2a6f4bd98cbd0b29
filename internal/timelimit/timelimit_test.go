package timelimit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// The error of a request says who has ended it: its limit or its caller.
func TestCauseOf(t *testing.T) {
	t.Parallel()
	errEngine, errGone := errors.New("engine"), errors.New("gone")
	ended, end := context.WithCancelCause(t.Context())
	end(errGone)
	limit := context.DeadlineExceeded
	for name, c := range map[string]struct {
		ctx       context.Context
		err, want error
		says      func(error) bool // what else is kept
	}{
		"success":                     {t.Context(), nil, nil, nil},
		"an error of the engine":      {t.Context(), errEngine, errEngine, nil},
		"the engine, and the caller":  {ended, errEngine, errEngine, nil},
		"the limit":                   {t.Context(), limit, ErrNoAnswer, nil},
		"the limit, before an effect": {t.Context(), driver.NoEffect(limit), ErrNoAnswer, driver.HadNoEffect},
		"the limit, and spent":        {t.Context(), driver.Spent(limit), ErrNoAnswer, driver.IsSpent},
		"the caller":                  {ended, context.Canceled, errGone, nil},
		"the caller, and spent":       {ended, driver.Spent(context.Canceled), errGone, driver.IsSpent},
		"the limit, known held":       {t.Context(), driver.KnownHeld(limit), ErrNoAnswer, driver.IsKnownHeld},
		"the caller, known held":      {ended, driver.KnownHeld(context.Canceled), errGone, driver.IsKnownHeld},
		"somebody else's context":     {t.Context(), context.Canceled, context.Canceled, nil},
	} {
		got := CauseOf(c.ctx, c.err)
		if !errors.Is(got, c.want) || c.says != nil && !c.says(got) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
		if c.says == nil && (driver.HadNoEffect(got) || driver.IsSpent(got)) {
			t.Errorf("%s: %v says too much", name, got)
		}
	}
}

// lateContext is a context whose deadline passes before it ends.
type lateContext struct {
	context.Context
	deadline time.Time
}

func (c lateContext) Deadline() (time.Time, bool) { return c.deadline, true }

// A request with the deadline of its caller may end a moment earlier.
func TestErrAtDeadlineWaitsForTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ends, cancel := context.WithTimeout(t.Context(), maxTimerDelay/2)
		defer cancel()
		if err := ErrAtDeadline(lateContext{ends, began}); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		if err := ErrAtDeadline(lateContext{t.Context(), began}); err != nil {
			t.Errorf("a context that does not end: %v", err)
		}
		if took := time.Since(began); took != maxTimerDelay*3/2 {
			t.Errorf("took %v", took)
		}
		before := time.Now()
		if err := ErrAtDeadline(lateContext{t.Context(), before.Add(1)}); err != nil || time.Since(before) > 0 {
			t.Errorf("before the deadline: %v", err)
		}
	})
}

func TestSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &Requests{Timeout: time.Minute}
		untilEnd := func(ctx context.Context) (int, error) { <-ctx.Done(); return 7, ctx.Err() }
		began := time.Now()
		if v, err := Send(t.Context(), r, r.TimeFor(time.Second), untilEnd); v != 7 || err != ErrNoAnswer {
			t.Errorf("got %v, %v", v, err)
		}
		if took := time.Since(began); took != time.Second || r.TimeFor(time.Hour) != time.Minute {
			t.Errorf("took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := Send(ctx, r, 0, untilEnd); err != context.DeadlineExceeded {
			t.Errorf("without a limit: %v", err)
		}
	})
}
