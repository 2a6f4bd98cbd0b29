package driver

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// The text says until when and why, and what to do. It does not say that somebody holds the name, also not for those
// who wait.
func TestTextOfGrantsClosedError(t *testing.T) {
	t.Parallel()
	open := time.Now().Add(time.Minute)
	closed := &GrantsClosedError{Open: open, Reason: "the server was restarted"}
	want := "grants are closed until " + open.Local().Format("15:04:05") + ", because the server was restarted"
	if closed.Error() != want {
		t.Errorf("%q, want %q", closed, want)
	}
	closed.Fix = "wait"
	err := fmt.Errorf("x: %w", closed.AsHeld())
	got, ok := errors.AsType[*GrantsClosedError](err)
	if err.Error() != "x: "+want+"; wait" || !errors.Is(err, ErrHeld) || !ok || got != closed {
		t.Errorf("%v", err)
	}
	if later := open.Add(24 * time.Hour); formatOpen(later, time.Now()) != later.Local().Format("2006-01-02 15:04:05") {
		t.Errorf("tomorrow is %q", formatOpen(later, time.Now()))
	}
}
