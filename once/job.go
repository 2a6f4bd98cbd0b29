package once

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold"
)

// Job is work with a name, which runs once per tick. It is only a name with settings, as a Mutex is: any number of
// processes may have a Job of the same name. All methods are safe for concurrent use.
type Job struct {
	name        string
	mutex       *leasehold.Mutex
	lockOptions []leasehold.Option
	retryFailed bool
	skipOverlap bool
	catchUp     int
	now         func() time.Time // the clock of this machine
}

// Option is an option of a job.
type Option func(*Job)

// LockOptions sets options of the job's lock, such as leasehold.TTL. The work is renewed for as long as it runs, so a
// TTL says how long after the death of a process another one may begin.
func LockOptions(opts ...leasehold.Option) Option {
	return func(j *Job) { j.lockOptions = append(j.lockOptions, opts...) }
}

// RetryFailed makes the next caller run a tick again if the work has returned an error. By default a tick is done when
// the work has returned, whatever it returned.
func RetryFailed() Option { return func(j *Job) { j.retryFailed = true } }

// SkipOverlapped makes a job skip ticks that became due while it was at work for an earlier one. By default the latest
// of them runs when that has ended. It compares the tick with the times of the latest run, which are those of the
// machine that ran it. Keys are never skipped.
func SkipOverlapped() Option { return func(j *Job) { j.skipOverlap = true } }

// New returns the job with that name, which is also the name of its lock and is bound by the same rules: see
// [leasehold.Client.Mutex]. A name or option that is not allowed is reported by the first call that uses the job.
func New(c *leasehold.Client, name string, opts ...Option) *Job {
	j := &Job{name: name, now: time.Now}
	for _, o := range opts {
		o(j)
	}
	j.mutex = c.Mutex(name, j.lockOptions...)
	return j
}

// Name returns the name of the job.
func (j *Job) Name() string { return j.name }

// Result says what became of a tick.
type Result struct {
	// Ran says that this call has run the work, to its end.
	Ran bool
	// Done says that the tick, or a later one, is done: it does not run again.
	Done bool
	// Skipped says that the tick is not run because of SkipOverlapped. Done is set, too.
	Skipped bool
	// Run is the run of this call or, if Ran is false, the one after which the tick, or the later one, was done.
	Run Run
}

// Work is a run that goes on, for the function that works.
type Work struct {
	job       *Job
	lease     *leasehold.Lease
	state     State
	run       Run
	committed bool // Commit was called
	commitErr error
}

// Tick returns the tick that is run.
func (w *Work) Tick() Tick { return w.run.Tick }

// Token returns the fencing token of the run: see [leasehold.Lease.Token]. If a tick is run again, the later run has
// the larger token.
func (w *Work) Token() uint64 { return w.lease.Token() }

// Lease returns the lease under which the work runs. Do not release it.
func (w *Work) Lease() *leasehold.Lease { return w.lease }

// Commit records that the tick is done by other means than [leasehold.Lease.SetData]: in the transaction in which the
// work itself takes effect. It calls store with the data to store under the name of the job's lock. If store returns
// nil, the tick is done, and Do stores nothing more. Call it at the end of the work, and at most once. With package
// postgres:
//
//	err := w.Commit(func(data []byte) error {
//		if err := engine.SetDataTx(ctx, tx, w.Lease(), data); err != nil {
//			return err
//		}
//		return tx.Commit(ctx)
//	})
//
// An error of store is returned as it is, and Do returns it, too. It may leave open whether the tick is done. Do does
// not store it by other means then: the next caller sees whether it is.
func (w *Work) Commit(store func(data []byte) error) error {
	run := w.run
	run.Ended = w.job.now()
	data, err := encode(w.state.add(run, true))
	if err != nil {
		return err
	}
	w.committed, w.commitErr = true, store(data)
	return w.commitErr
}

// Do runs work for a tick, unless that tick, or a later one, is done. If another process is working, Do waits until
// that has ended. It returns the error of the work.
//
// work should use the context that it gets, which is cancelled if the lock is lost. If it is cut short, because that
// context ended and work returned an error, or because it panicked, the tick is not done.
//
// Besides that of the work, errors are those of [leasehold.Mutex.Lock], [leasehold.Mutex.Data] and
// [leasehold.Lease.SetData]. If the work has ended, but that could not be recorded, the error is ErrNotRecorded, joined
// with that of the work, Result.Ran is true and Result.Done is false.
func (j *Job) Do(ctx context.Context, tick Tick, work func(context.Context, *Work) error) (Result, error) {
	return j.do(ctx, tick, work, j.mutex.Lock)
}

// TryDo is Do without waiting: it returns ErrHeld if another process is working on a tick of the job.
func (j *Job) TryDo(ctx context.Context, tick Tick, work func(context.Context, *Work) error) (Result, error) {
	return j.do(ctx, tick, work, j.mutex.TryLock)
}

func (j *Job) do(
	ctx context.Context, tick Tick, work func(context.Context, *Work) error,
	lock func(context.Context) (*leasehold.Lease, error),
) (Result, error) {
	if _, r, err := j.look(ctx, tick); r.Done || err != nil {
		return r, err
	}
	lease, err := lock(ctx)
	if err != nil {
		return Result{}, err
	}
	// Also if work panics. Nothing depends on the end of the lease: what is done was recorded while the lock was held.
	defer func() { _ = lease.Release() }()
	return j.DoUnder(lease, tick, work)
}

// look reads the state, and the result if a tick is done or skipped.
func (j *Job) look(ctx context.Context, tick Tick) (State, Result, error) {
	s, err := j.State(ctx)
	if err != nil {
		return s, Result{}, err
	}
	done, err := s.IsDone(tick)
	switch {
	case err != nil:
		return s, Result{}, err
	case done:
		return s, Result{Done: true, Run: s.runOf(tick)}, nil
	case j.skipOverlap && s.wasWorking(tick.time):
		return s, Result{Done: true, Skipped: true, Run: s.Runs[0]}, nil
	}
	return s, Result{}, nil
}

// ErrCutShort is what work wraps in its error to say that it has not ended, although its context has not ended either:
// the tick is not done. The errors of Do for work that was cut short wrap it, too.
var ErrCutShort = errors.New("the work was cut short")

// ErrNotRecorded is in the error of Do if the work has ended and the engine has not confirmed that this was recorded,
// or the lock was lost before: the tick is not done, unless a late answer says so, and may run again.
var ErrNotRecorded = errors.New("the work has ended, but that is not recorded, so it may run again")

// DoUnder is Do for a program that takes the lock itself: an exclusive lock of the job's name, which it also releases.
// The context of the work is that of the lease.
func (j *Job) DoUnder(
	lease *leasehold.Lease, tick Tick, work func(context.Context, *Work) error,
) (Result, error) {
	ctx := lease.Context()
	s, r, err := j.look(ctx, tick)
	if r.Done || err != nil {
		return r, err
	}
	w := &Work{job: j, lease: lease, state: s, run: Run{
		Tick: tick, Token: lease.Token(), Began: j.now(), By: lease.Holder(),
	}}
	failed := work(ctx, w)
	w.run.Ended = j.now()
	if failed != nil {
		w.run.Error = failed.Error()
	}
	switch {
	case w.committed && w.commitErr == nil:
		return Result{Ran: true, Done: true, Run: w.run}, failed
	case w.committed:
		return Result{}, cmp.Or(failed, w.commitErr)
	case failed != nil && ctx.Err() != nil:
		return Result{}, fmt.Errorf("once: job %s, tick %s: %w (%w): %w",
			strconv.Quote(j.name), tick, ErrCutShort, context.Cause(ctx), failed)
	case errors.Is(failed, ErrCutShort):
		return Result{}, failed
	}
	done := failed == nil || !j.retryFailed
	data, err := encode(s.add(w.run, done))
	if err == nil {
		err = lease.SetData(context.WithoutCancel(ctx), data)
	}
	if err != nil {
		err = fmt.Errorf("once: job %s, tick %s: %w: %w", strconv.Quote(j.name), tick, ErrNotRecorded, err)
		return Result{Ran: true, Run: w.run}, errors.Join(failed, err)
	}
	return Result{Ran: true, Done: done, Run: w.run}, failed
}
