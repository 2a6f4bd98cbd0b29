//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// unlessSignaled returns what ask returns, unless a signal that would end a program comes first. It then does not wait
// for a file or server that says nothing: nothing is held yet, and what runs in the background ends with this process.
func unlessSignaled[T any](a *app, signals <-chan os.Signal, ask func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		v, err := ask()
		answered <- answer{v, err}
	}()
	select {
	case got := <-answered:
		return got.value, got.err
	case sig := <-signals:
		var none T
		return none, a.signalError(sig)
	}
}

// signalError returns the error of a command that a signal has ended.
func (a *app) signalError(sig os.Signal) error {
	a.interrupted = sig == unix.SIGINT
	return exit.Silent(exit.Signal(int(sig.(unix.Signal))))
}

// acquire waits for the lock, and ends the session if it gets none. A signal that would end a program cancels ctx and
// so ends the wait. Otherwise ctx becomes the context of the lease.
func (a *app) acquire(
	ctx context.Context, cancel context.CancelFunc, s *session, j job, signals <-chan os.Signal,
) (*leasehold.Lease, error) {
	var (
		lease    *leasehold.Lease
		err      error
		answered = make(chan struct{})
	)
	began := time.Now()
	stopReport := a.reportWait(ctx, s, j)
	defer stopReport()
	go func() {
		defer close(answered)
		if lease, err = j.acquireOrNested(ctx, s); err == nil {
			err = j.extendToTTL(ctx, lease)
		}
	}()
	select {
	case sig := <-signals:
		cancel()
		a.undoAcquire(s, j, answered, signals) // also if the signal came while the lock was granted
		return nil, a.signalError(sig)
	case <-answered:
	}
	if err == nil {
		stopReport()
		a.detail(j, "granted %q after %s: token %d, ttl %s", j.name, formatAge(time.Since(began)), lease.Token(),
			time.Duration(j.ttl))
		return lease, nil
	}
	// Close releases what an unanswered request may have taken. The reason why there is no lease is what matters, even
	// if a signal cuts this short.
	awaitUnlessSignaled(signals, false, s.close)
	return nil, j.acquireError(err)
}

// acquireOrNested asks for the lock, unless an enclosing run holds it: that run waits for this one to end.
func (j job) acquireOrNested(ctx context.Context, s *session) (*leasehold.Lease, error) {
	inspect := func() ([]admin.Status, error) { return s.admin().Inspect(ctx, j.name) }
	o, err := heldByEnclosing(inspect, j.kind(), j.name)
	if err != nil {
		return nil, err
	}
	switch {
	case o.pid == 0:
	case j.given("slots") && o.permits >= j.slots:
		return nil, exit.Errorf(j.conflictCode,
			"all %d permits of %q are held by runs around this one (the last is process %d), which wait for this one "+
				"to end, so it would wait for ever: leave one of them out", j.slots, j.name, o.pid)
	case j.given("slots"):
	case o.exclusive:
		return nil, exit.Errorf(j.conflictCode,
			"%q is held by a run around this one (process %d), which waits for this one to end, so this one would "+
				"wait for ever: leave one of the two out, or give it another name", j.name, o.pid)
	case !j.shared:
		return nil, exit.Errorf(j.conflictCode,
			"%q is held with --shared by a run around this one (process %d), which waits for this one to end, so this "+
				"one would wait for ever: leave out --shared there, or give one of the two another name", j.name, o.pid)
	case !j.isSet("wait") && !j.nonblock:
		return j.acquireNested(ctx, s.client, o)
	}
	return j.requestLease(ctx, s.client)
}

// acquireNested takes a read lock within another read lock, without waiting: a caller that waits for the write lock is
// served first, and waits for the enclosing run.
func (j job) acquireNested(ctx context.Context, c *leasehold.Client, o enclosingHold) (*leasehold.Lease, error) {
	j.nonblock = true
	l, err := j.requestLease(ctx, c)
	if errors.Is(err, leasehold.ErrHeld) {
		err = exit.Errorf(j.conflictCode,
			"somebody waits for the write lock of %q, and is served before this run, but after the one around it "+
				"(process %d), which waits for this one to end, so this one would wait for ever: leave one of the two "+
				"out, or limit the waiting by --wait", j.name, o.pid)
	}
	return l, err
}

// requestLease asks the engine for the lock or permit that the flags describe.
func (j job) requestLease(ctx context.Context, c *leasehold.Client) (*leasehold.Lease, error) {
	opts := []leasehold.Option{leasehold.TTL(time.Duration(j.ttl)), leasehold.AtLeast(time.Duration(j.minHold))}
	if j.given("max-hold") && j.runLimit() == 0 {
		opts = append(opts, leasehold.MaxHold(time.Duration(j.maxHold)))
	}
	if j.label != "" {
		opts = append(opts, leasehold.Label(j.label))
	}
	try := !j.waits()
	if j.wait > 0 {
		opts = append(opts, leasehold.WaitLimit(time.Duration(j.wait)))
	}
	switch {
	case j.given("slots") && try:
		return c.Semaphore(j.name, j.slots, opts...).TryAcquire(ctx, 1)
	case j.given("slots"):
		return c.Semaphore(j.name, j.slots, opts...).Acquire(ctx, 1)
	case j.shared && try:
		return c.RWMutex(j.name, opts...).TryRLock(ctx)
	case j.shared:
		return c.RWMutex(j.name, opts...).RLock(ctx)
	case try:
		return c.Mutex(j.name, opts...).TryLock(ctx)
	}
	return c.Mutex(j.name, opts...).Lock(ctx)
}

// waits reports whether the run may wait for the lock.
func (j job) waits() bool { return !j.nonblock && !(j.isSet("wait") && j.wait == 0) }

// extendToTTL makes the lease last for a whole ttl. A waiter may be handed the lock with a much shorter first lease,
// and the program would be ended in time for that one.
func (j job) extendToTTL(ctx context.Context, l *leasehold.Lease) error {
	if time.Until(l.Deadline()) > time.Duration(j.ttl)/2 {
		return nil
	}
	return withExitCode(l.Extend(ctx, time.Duration(j.ttl)))
}

// acquireError explains why there is no lease.
func (j job) acquireError(err error) error {
	held, late, tooMany := errors.Is(err, leasehold.ErrHeld), errors.Is(err, leasehold.ErrTimeout),
		errors.Is(err, leasehold.ErrTooManyWaiters)
	closed, isClosed := errors.AsType[*leasehold.GrantsClosedError](err)
	switch {
	case isClosed && late:
		return exit.Errorf(exit.Unavailable, "%q was not granted within %s: %w", j.name, j.wait.String(), closed)
	case isClosed:
		return exit.Errorf(exit.Unavailable, "%q is not granted: %w", j.name, closed)
	case (held || late || tooMany) && j.skipOK:
		return &exit.Error{Code: exit.OK} // nothing went wrong, so there is nothing to say
	case held:
		return exit.Errorf(j.conflictCode, "%q is held by somebody else: see leasehold inspect, or wait with --wait",
			j.name)
	case tooMany:
		return exit.Errorf(j.conflictCode,
			"%q is waited for by as many as --max-waiters allows, %d: see leasehold inspect, or allow more", j.name,
			j.maxWaiters)
	case late:
		return exit.Errorf(j.conflictCode, "%q was not free within %s: see leasehold inspect, or wait longer", j.name,
			j.wait.String())
	}
	return withExitCode(err)
}
