package redisson

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/argument"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// Semaphore is a number of permits, which is called RSemaphore in Redisson, from getSemaphore. Nobody owns a permit,
// and none has a lease: the permits of a program that dies are gone for good, and anybody may add some. The semaphores
// of the library have owners and leases: the engine keeps those as RPermitExpirableSemaphore.
//
// It is safe for concurrent use. If its name cannot be used, each call returns a *[NameError].
//
// A TryAcquire, Acquire or DrainPermits that fails as its answer was lost is undone, and takes nothing if it arrives
// late. A Release without an answer is repeated in the background, for up to half an hour, and counts once. For that,
// the server remembers each call in a key of its own: until it was answered, or for an hour.
type Semaphore struct {
	e    *Engine
	name string
	err  error // the name cannot be used
}

// Scripts of semaphores. They do what Redisson's own do, and remember each request.
var (
	//go:embed scripts/semaphore_take.lua
	semaphoreTakeText string
	//go:embed scripts/semaphore_undo.lua
	semaphoreUndoText string
	//go:embed scripts/semaphore_release.lua
	semaphoreReleaseText string
	//go:embed scripts/semaphore_set.lua
	semaphoreSetText string
	//go:embed scripts/semaphore_drain.lua
	semaphoreDrainText string

	semaphoreTake    = luascript.New(semaphoreTakeText)
	semaphoreUndo    = luascript.New(semaphoreUndoText)
	semaphoreRelease = luascript.New(publishingText + semaphoreReleaseText)
	semaphoreSet     = luascript.New(publishingText + semaphoreSetText)
	semaphoreDrain   = luascript.New(semaphoreDrainText)
)

// PermitError says that a number of permits is not allowed. It is a [driver.ErrInvalid]. Nothing was sent.
type PermitError struct {
	Permits int
	Least   int // that is allowed
}

// Error implements error.
func (e *PermitError) Error() string {
	return fmt.Sprintf("redisson: %d permits: give a number from %d to %d", e.Permits, e.Least, math.MaxInt32)
}

// Unwrap returns driver.ErrInvalid.
func (e *PermitError) Unwrap() error { return driver.ErrInvalid }

// Semaphore returns the semaphore with a name.
func (e *Engine) Semaphore(name string) *Semaphore {
	raw, err := e.name(driver.Key{Kind: driver.Semaphore, Name: name})
	if !argument.IsText(name) {
		err = &NameError{name, "it must be " + argument.AllowedText}
	}
	return &Semaphore{e, raw, err}
}

// check refuses what cannot be sent.
func (s *Semaphore) check(permits, least int) error {
	switch {
	case s.err != nil:
		return s.err
	case s.e.connections.IsClosed():
		return errClosed
	case permits < least || permits > math.MaxInt32:
		return &PermitError{permits, least}
	}
	return nil
}

// recordKey returns a key for the record of one call.
func (s *Semaphore) recordKey() string {
	return withPrefix("leasehold_semaphore", s.name) + ":" + rand.Text()
}

// TryAcquire takes n permits if there are so many now, and reports whether it did. If there is an error, none are
// taken: it makes sure of that in the background if the server has not answered.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (bool, error) {
	if err := s.check(n, 1); err != nil {
		return false, err
	}
	a := s.newAttempt(n)
	defer a.end()
	return a.take(ctx)
}

// Acquire takes n permits, and waits until there are so many, or until ctx ends. It waits on while the server cannot be
// reached. If there is an error, none are taken, as with TryAcquire.
func (s *Semaphore) Acquire(ctx context.Context, n int) error {
	if err := s.check(n, 1); err != nil {
		return err
	}
	a := s.newAttempt(n)
	defer a.end()
	var err, failed error // failed is that of the last poll, unless the server has answered it
	failures, answered := 0, false
	ended := s.e.pollUntil(ctx, permitChannel(s.name), false, func() (again time.Duration, done bool) {
		if err = s.check(n, 1); err != nil {
			return 0, true // closed meanwhile
		}
		var ok bool
		ok, err = within(ctx, answerTimeout, a.take)
		switch {
		case err == nil:
			failures, failed, answered = 0, nil, true
			return -1, ok
		case driver.IsPermanent(err):
			return 0, true
		case errors.Is(err, ctx.Err()):
			if !answered && failed == nil { // as when connecting has taken until now
				failed = err
			}
			return 0, true
		}
		if _, unconfirmed := errors.AsType[*unconfirmedError](err); unconfirmed {
			// The permits are given back, of which a message tells. Let somebody else have them who needs no replica.
			sleep(ctx, pollUnnotified)
		}
		failures, failed = failures+1, err
		return min(minPollInterval<<min(failures, 10), pollUnnotified), ctx.Err() != nil
	})
	switch {
	case ended == nil && (err == nil || driver.IsPermanent(err)):
		return err
	case failed != nil:
		return &WaitError{ctx.Err(), failed}
	}
	return ctx.Err()
}

// sleep returns when a time has passed, or ctx has ended.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// WaitError says that a wait has ended with its context, while the server could not be reached.
type WaitError struct {
	Ended  error // of the context
	Failed error // of the last request
}

// Error implements error.
func (e *WaitError) Error() string {
	return e.Ended.Error() + "; the last request failed: " + e.Failed.Error()
}

// Unwrap returns both errors.
func (e *WaitError) Unwrap() []error { return []error{e.Ended, e.Failed} }

// attempt takes permits at most once, however often it asks.
type attempt struct {
	s      *Semaphore
	n      int
	record string
	// uncertain says since when a request may have taken permits, or may do so later. It is zero if there is none.
	uncertain time.Time
	done      func()
}

func (s *Semaphore) newAttempt(n int) *attempt {
	return &attempt{s: s, n: n, record: s.recordKey(), done: s.e.background.Begin()}
}

// take asks once, and reports whether the permits are taken, now or by an earlier request.
func (a *attempt) take(ctx context.Context) (bool, error) {
	answer, err := a.ask(ctx, func(record string) call {
		return call{semaphoreTake, []string{a.s.name, record}, []any{a.n, recordTime.Milliseconds()}}
	})
	return answer == 1, err
}

// ask sends a request that takes permits if its answer is above 0.
func (a *attempt) ask(ctx context.Context, newCall func(record string) call) (int64, error) {
	if !a.uncertain.IsZero() && time.Since(a.uncertain) > repeatTime {
		a.beginAnew()
	}
	sent, record := time.Now(), a.record
	answer, err := a.s.e.runForPermits(ctx, func(string) call { return newCall(record) })
	switch _, unconfirmed := errors.AsType[*unconfirmedError](err); {
	case unconfirmed:
		a.beginAnew()
	case answer > 0 && a.uncertain.IsZero():
		a.s.e.settle(a.s.name, record)
	case answer > 0:
		a.uncertain = time.Time{}
	case err != nil && !driver.HadNoEffect(err) && a.uncertain.IsZero():
		a.uncertain = sent
	}
	return answer, err
}

// beginAnew undoes the requests so far in the background, and goes on as another attempt.
func (a *attempt) beginAnew() {
	a.s.undo(a.record)
	a.record, a.uncertain = a.s.recordKey(), time.Time{}
}

// end makes sure that nothing is taken if it is not known whether anything was. It returns at once.
func (a *attempt) end() {
	if !a.uncertain.IsZero() {
		a.s.undo(a.record)
	}
	a.done()
}

// undo makes sure in the background that the requests with a record take nothing.
func (s *Semaphore) undo(record string) {
	s.e.repeat(recordTime, func(ctx context.Context) error {
		_, err := s.e.run(ctx, func(publish string) call {
			return call{semaphoreUndo, []string{s.name, permitChannel(s.name), record},
				[]any{recordTime.Milliseconds(), publish}}
		})
		return err
	})
}

// Release gives n permits back, or adds n: nobody counts who has taken them. If it returns an error that is not marked
// with driver.NoEffect, the server may have added them, and is asked again in the background until it has: do not
// release them again.
func (s *Semaphore) Release(ctx context.Context, n int) error {
	_, err := s.release(ctx, n, 0)
	return err
}

// ReleaseIfExists is Release if the semaphore exists, and reports whether it does.
func (s *Semaphore) ReleaseIfExists(ctx context.Context, n int) (bool, error) {
	return s.release(ctx, n, 1)
}

func (s *Semaphore) release(ctx context.Context, n, mustExist int) (bool, error) {
	if err := s.check(n, 1); err != nil {
		return false, err
	}
	return s.add(ctx, n, mustExist)
}

// add adds permits, and goes on in the background if nothing is known after three requests, or when ctx has ended.
func (s *Semaphore) add(ctx context.Context, n, mustExist int) (bool, error) {
	defer s.e.background.Begin()()
	record := s.recordKey() // so that it may be repeated
	send := func(ctx context.Context) (int64, error) {
		return readInteger(s.e.run(ctx, func(publish string) call {
			return call{semaphoreRelease, []string{s.name, permitChannel(s.name), record},
				[]any{n, recordTime.Milliseconds(), publish, mustExist}}
		}))
	}
	var lost error // of the first request that may have had an effect
	for attempt := 1; ; attempt++ {
		answer, err := send(ctx)
		if err == nil {
			if answer == 1 && lost == nil {
				s.e.settle(s.name, record)
			}
			return answer == 1, nil
		}
		if lost == nil && !driver.HadNoEffect(err) {
			lost = err
		}
		if !driver.IsPermanent(err) && ctx.Err() == nil && attempt < 3 {
			continue
		}
		if lost == nil {
			return false, err
		}
		s.e.repeat(repeatTime, func(ctx context.Context) error { _, err := send(ctx); return err })
		return false, lost
	}
}

// AddPermits adds n permits, and makes the semaphore if it does not exist. If n is below zero, it takes them away at
// once: the number of permits is below zero then if more are acquired than there should be. Errors are as of Release.
func (s *Semaphore) AddPermits(ctx context.Context, n int) error {
	if err := s.check(n, -math.MaxInt32); err != nil {
		return err
	}
	_, err := s.add(ctx, n, 0)
	return err
}

// TrySetPermits makes the semaphore with n permits, which may be 0, and reports whether it did: if it exists, nothing
// changes.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int) (bool, error) {
	return s.trySet(ctx, n, 0)
}

// TrySetPermitsFor is TrySetPermits for a semaphore that is gone when d has passed, 1 ms at least, whoever has permits.
// A release that comes later makes it anew, without an end.
func (s *Semaphore) TrySetPermitsFor(ctx context.Context, n int, d time.Duration) (bool, error) {
	if d < time.Millisecond {
		return false, &SemaphoreTimeError{d}
	}
	return s.trySet(ctx, n, luascript.Millis(d))
}

// SemaphoreTimeError says that a semaphore cannot last for so long. It is a [driver.ErrInvalid]. Nothing was sent.
type SemaphoreTimeError struct{ Time time.Duration }

// Error implements error.
func (e *SemaphoreTimeError) Error() string {
	return fmt.Sprintf("redisson: a semaphore for %v: give a time of 1ms or more", e.Time)
}

// Unwrap returns driver.ErrInvalid.
func (e *SemaphoreTimeError) Unwrap() error { return driver.ErrInvalid }

func (s *Semaphore) trySet(ctx context.Context, n int, ms int64) (bool, error) {
	if err := s.check(n, 0); err != nil {
		return false, err
	}
	answer, err := readInteger(s.e.run(ctx, func(publish string) call {
		return call{semaphoreSet, []string{s.name, permitChannel(s.name)}, []any{n, publish, ms}}
	}))
	return answer == 1, err
}

// DrainPermits takes all permits that are available, and returns how many they were. If there is an error, none are
// taken, as with TryAcquire.
func (s *Semaphore) DrainPermits(ctx context.Context) (int, error) {
	if err := s.check(0, 0); err != nil {
		return 0, err
	}
	a := s.newAttempt(0)
	defer a.end()
	answer, err := a.ask(ctx, func(record string) call {
		return call{semaphoreDrain, []string{s.name, record}, []any{recordTime.Milliseconds()}}
	})
	return int(max(answer, 0)), err
}

// AvailablePermits returns how many permits are available: 0 if the semaphore does not exist.
func (s *Semaphore) AvailablePermits(ctx context.Context) (int, error) {
	if err := s.check(0, 0); err != nil {
		return 0, err
	}
	return detach.Do(ctx, &s.e.workers, func(ctx context.Context) (int, error) {
		text, err := s.e.client.Get(ctx, s.name).Result()
		if errors.Is(err, redis.Nil) {
			return 0, nil
		}
		if err != nil {
			return 0, explain(err)
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, driver.Permanent(fmt.Errorf(
				"redisson: key %q holds no number of permits: use another name", s.name))
		}
		return n, nil
	}, nil)
}

// readInteger reads the answer of a script that is a number.
func readInteger(answer any, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	n, ok := answer.(int64)
	if !ok {
		return 0, errReply
	}
	return n, nil
}
