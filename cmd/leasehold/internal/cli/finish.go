//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold"
)

// finishLimit is how long a command that only reads may go on after a signal, or after it is done: to print what it has
// and to close what it has opened.
const finishLimit = 100 * time.Millisecond

// Tests that must pass on a busy machine make these longer.
var (
	// UndoLimit is how long run waits, after a signal, for the engine to confirm that nothing of the lock is left
	// there. It suffices for two requests to a server on the other side of the earth.
	UndoLimit = 500 * time.Millisecond
	// SameSignalWithin is how long after a signal another one counts as the same: timeout(1) signals the command and
	// then its group, and so does whatever passes on a signal that the terminal has sent to all. Nobody presses a key
	// twice in that time.
	SameSignalWithin = 100 * time.Millisecond
	// RequestTimeout is how long one request to the engine may take.
	RequestTimeout = leasehold.DefaultRequestTimeout
)

// close ends the session. Its error says if something may be left on the engine. An engine that fails to close has
// nothing left to lose, so its error is ignored.
func (s *session) close() (err error) {
	if s.client != nil {
		err = s.client.Close()
	}
	_ = s.closeEngine()
	return err
}

// closeSoon ends the session of a command that has taken nothing. It does not wait for an engine that does not answer:
// its connections end with the process.
func (s *session) closeSoon() {
	over, end := context.WithCancel(context.Background())
	end()
	_ = awaitOrAbandon(over, s.close)
}

// awaitOrAbandon returns the result of f, or the error of ctx soon after ctx ends, even if f goes on.
func awaitOrAbandon(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(finishLimit):
		return ctx.Err()
	}
}

// awaitUnlessSignaled returns the result of f. It returns false if a signal that would end a program has come and f
// goes on for longer than UndoLimit, or until another signal comes later than SameSignalWithin. signaled says that the
// first signal has come already. f goes on until this process ends.
func awaitUnlessSignaled[T any](signals <-chan os.Signal, signaled bool, f func() T) (value T, done bool) {
	answered := make(chan T, 1)
	go func() { answered <- f() }()
	var (
		limit <-chan time.Time
		first time.Time
	)
	begin := func() { limit, first = time.After(UndoLimit), time.Now() }
	if signaled {
		begin()
	}
	for {
		select {
		case value = <-answered:
			return value, true
		case <-limit:
			return value, false
		case sig := <-signals:
			switch {
			case !slices.Contains(endingSignals, sig):
			case limit == nil:
				begin()
			case time.Since(first) > SameSignalWithin:
				return value, false
			}
		}
	}
}

// undoAcquire makes sure that nothing of the lock is left on the engine after a signal has ended the wait. It says so
// if the engine does not confirm that.
func (a *app) undoAcquire(s *session, j job, ended <-chan struct{}, signals <-chan os.Signal) {
	err, answered := awaitUnlessSignaled(signals, true, func() error {
		<-ended // the goroutine that asks for the lock: then Close knows of all its requests
		return s.client.Close()
	})
	s.closeSoon()
	if !answered || errors.Is(err, leasehold.ErrUnknown) {
		a.say("the engine has not confirmed that %q is not taken: it may still grant it to this run, which has ended, "+
			"and then it is free when the ttl of %s has passed", j.name, time.Duration(j.ttl))
	}
}
