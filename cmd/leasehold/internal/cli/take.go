//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// openUnless opens the engine, unless a signal that would end a program comes first. Neither a file nor a server that says nothing is waited for then: nothing is
// held yet, so what goes on in the background ends with this process.
func (a *app) openUnless(signals <-chan os.Signal, open func() (*session, error)) (*session, error) {
	type answer struct {
		session *session
		err     error
	}
	answered := make(chan answer, 1)
	go func() {
		s, err := open()
		answered <- answer{s, err}
	}()
	select {
	case got := <-answered:
		return got.session, got.err
	case sig := <-signals:
		a.interrupted = sig == unix.SIGINT
		return nil, exit.Silent(exit.Signal(int(sig.(unix.Signal))))
	}
}

// take waits for the lock. A signal that would end a program ends the waiting, and so ctx, which
// becomes the lease's own otherwise.
func (a *app) take(ctx context.Context, cancel context.CancelFunc, c *leasehold.Client, j job, signals <-chan os.Signal) (*leasehold.Lease, error) {
	type answer struct {
		lease *leasehold.Lease
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		l, err := j.ask(ctx, c)
		answered <- answer{l, err}
	}()
	var caught unix.Signal
	for {
		select {
		case sig := <-signals:
			caught = sig.(unix.Signal)
			cancel()
		case got := <-answered:
			switch {
			case got.err == nil && caught == 0:
				return got.lease, nil
			case got.err == nil: // the signal and the grant have met
				a.release(got.lease)
			}
			if caught != 0 {
				a.interrupted = caught == unix.SIGINT
				return nil, exit.Silent(exit.Signal(int(caught)))
			}
			return nil, j.refused(got.err)
		}
	}
}

// ask asks for what the flags say, unless a run around this one has it: that one waits for this one to end.
func (j job) ask(ctx context.Context, c *leasehold.Client) (*leasehold.Lease, error) {
	o, err := heldAround(func() ([]leasehold.Status, error) { return c.Inspect(ctx, j.name) }, j.kind(), j.name)
	if err != nil {
		return nil, err
	}
	switch {
	case o.pid == 0:
	case j.given("slots") && o.permits >= j.slots:
		return nil, exit.Errorf(j.conflictCode, "all %d permits of %q are held by runs around this one (the last is process %d), which wait for this one to end, so it would wait for ever: leave one of them out", j.slots, j.name, o.pid)
	case j.given("slots"):
	case o.write:
		return nil, exit.Errorf(j.conflictCode, "%q is held by a run around this one (process %d), which waits for this one to end, so this one would wait for ever: leave one of the two out, or give it another name", j.name, o.pid)
	case !j.shared:
		return nil, exit.Errorf(j.conflictCode, "%q is held with --shared by a run around this one (process %d), which waits for this one to end, so this one would wait for ever: leave out --shared there, or give one of the two another name", j.name, o.pid)
	case !j.given("wait") && !j.nonblock:
		return j.inside(ctx, c, o)
	}
	return j.request(ctx, c)
}

// inside takes a read lock within another one. One who waits for the write lock is served first, and waits for the outer one.
func (j job) inside(ctx context.Context, c *leasehold.Client, o outer) (*leasehold.Lease, error) {
	j.nonblock = true
	l, err := j.request(ctx, c)
	if errors.Is(err, leasehold.ErrHeld) {
		err = exit.Errorf(j.conflictCode, "somebody waits for the write lock of %q, and is served before this run, but after the one around it (process %d), which waits for this one to end, so this one would wait for ever: leave one of the two out, or limit the waiting by --wait", j.name, o.pid)
	}
	return l, err
}

// request asks the engine for it.
func (j job) request(ctx context.Context, c *leasehold.Client) (*leasehold.Lease, error) {
	opts := []leasehold.Option{leasehold.TTL(time.Duration(j.ttl)), leasehold.AtLeast(time.Duration(j.minHold))}
	if j.given("max-hold") && j.ending() == 0 {
		opts = append(opts, leasehold.MaxHold(time.Duration(j.maxHold)))
	}
	try := j.nonblock || j.given("wait") && j.wait == 0
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

// whole makes the lease last for a whole ttl. Who has waited and is handed the lock may have a much shorter one at first, and
// the program would be ended in time for that one.
func (j job) whole(ctx context.Context, l *leasehold.Lease) error {
	if time.Until(l.Deadline()) > time.Duration(j.ttl)/2 {
		return nil
	}
	return failure(l.Extend(ctx, time.Duration(j.ttl)))
}

// refused says why there is no lease.
func (j job) refused(err error) error {
	held, late, crowded := errors.Is(err, leasehold.ErrHeld), errors.Is(err, leasehold.ErrTimeout), errors.Is(err, leasehold.ErrCrowded)
	switch {
	case (held || late || crowded) && j.skipOK:
		return &exit.Error{Code: exit.OK} // nothing went wrong, so there is nothing to say
	case held:
		return exit.Errorf(j.conflictCode, "%q is held by somebody else: see leasehold inspect, or wait with --wait", j.name)
	case crowded:
		return exit.Errorf(j.conflictCode, "%q is waited for by as many as --max-waiters allows, %d: see leasehold inspect, or allow more", j.name, j.maxWaiters)
	case late:
		return exit.Errorf(j.conflictCode, "%q was not free within %s: see leasehold inspect, or wait longer", j.name, j.wait.String())
	}
	return failure(err)
}
