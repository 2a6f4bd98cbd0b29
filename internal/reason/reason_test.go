package reason_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/reason"
)

// Each error has a word for its reason, whatever its cause, and however it is wrapped. The words are values of labels
// and attributes that people query, so they must not change.
func TestReasons(t *testing.T) {
	t.Parallel()
	causes := []error{
		nil, leasehold.ErrLost, leasehold.ErrUnavailable, leasehold.ErrHeld, context.Canceled,
		errors.New("server on fire"),
	}
	words := map[string]bool{}
	for err, want := range map[error]string{
		leasehold.ErrHeld: "held", leasehold.ErrTimeout: "timeout", leasehold.ErrUnavailable: "unavailable",
		leasehold.ErrClosed: "closed", leasehold.ErrTooManyWaiters: "too_many_waiters", leasehold.ErrFull: "full",
		leasehold.ErrUpgrade: "upgrade",
		context.Canceled:     "cancelled", context.DeadlineExceeded: "deadline",
		leasehold.ErrReleased: "ended", leasehold.ErrLost: "ended", leasehold.ErrMaxHold: "ended",
		errors.New("news"): "other",
	} {
		words[want] = true
		forms := []error{err, fmt.Errorf("wrapped: %w", err)}
		for _, cause := range causes {
			failed := &leasehold.Error{Op: "lock", Err: err, Cause: cause}
			forms = append(forms, failed, fmt.Errorf("wrapped: %w", failed))
		}
		for _, form := range forms {
			if got := reason.Of(form).String(); got != want {
				t.Errorf("the reason of %q is %q, want %q", form, got, want)
			}
		}
	}
	if len(words) != int(reason.Reasons) {
		t.Errorf("%d words were tested, want %d", len(words), reason.Reasons)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	words := map[string]bool{}
	for err, want := range map[error]string{
		nil:                  "ok",
		leasehold.ErrLost:    "lost",
		leasehold.ErrUnknown: "unknown",
		errors.New("news"):   "unknown",
		&leasehold.Error{Op: "release", Err: leasehold.ErrLost}:    "lost",
		&leasehold.Error{Op: "release", Err: leasehold.ErrUnknown}: "unknown",
	} {
		words[want] = true
		if got := reason.OutcomeOf(err).String(); got != want {
			t.Errorf("the outcome of %v is %q, want %q", err, got, want)
		}
	}
	if len(words) != int(reason.Outcomes) {
		t.Errorf("%d words were tested, want %d", len(words), reason.Outcomes)
	}
}
