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
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// Semaphore is a number of permits, which is called RSemaphore in Redisson, from getSemaphore. Nobody owns a permit,
// and none has a lease: the permits of a program that dies are gone for good, and anybody may add some. The semaphores
// of the library have owners and leases: the engine keeps those as RPermitExpirableSemaphore.
//
// It is safe for concurrent use.
//
// A TryAcquire or Acquire whose answer was lost is undone, and takes nothing if it arrives late: the server remembers
// each request for 20 seconds, in a key of its own. No request is sent twice. After a lost answer to one of the other
// methods, look at AvailablePermits.
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
	semaphoreRelease = luascript.New(semaphoreReleaseText)
	semaphoreSet     = luascript.New(semaphoreSetText)
	semaphoreDrain   = luascript.New(semaphoreDrainText)
)

// requestRecordTime is for how long the server remembers a request.
const requestRecordTime = 20 * time.Second

// PermitError says that a number of permits cannot be asked for. Nothing was sent.
type PermitError struct{ Permits int }

// Error implements error.
func (e *PermitError) Error() string {
	return fmt.Sprintf("redisson: %d permits: give a number from 1 to %d", e.Permits, math.MaxInt32)
}

// Semaphore returns the semaphore with a name.
func (e *Engine) Semaphore(name string) *Semaphore {
	raw, err := e.name(driver.Key{Kind: driver.Semaphore, Name: name})
	return &Semaphore{e, raw, err}
}

// check refuses what cannot be sent.
func (s *Semaphore) check(permits int) error {
	switch {
	case s.err != nil:
		return s.err
	case s.e.connections.IsClosed():
		return errClosed
	case permits < 1 || permits > math.MaxInt32:
		return driver.Permanent(&PermitError{permits})
	}
	return nil
}

// recordKey returns a key for the record of one request.
func (s *Semaphore) recordKey() string {
	return withPrefix("leasehold_semaphore", s.name) + ":" + rand.Text()
}

// TryAcquire takes n permits if there are so many now, and reports whether it did. If there is an error, none are
// taken: it makes sure of that in the background if the server has not answered.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (bool, error) {
	if err := s.check(n); err != nil {
		return false, err
	}
	record := s.recordKey()
	undo := func(int64, error) { s.undo(n, record) }
	answer, err := detach.Do(ctx, &s.e.workers, func(ctx context.Context) (int64, error) {
		return readInteger(s.e.send(ctx, func(string) call {
			return call{semaphoreTake, []string{s.name, record}, []any{n, requestRecordTime.Milliseconds()}}
		}))
	}, undo)
	if err != nil && !driver.HadNoEffect(err) && !driver.IsSpent(err) { // late undoes what is spent
		undo(0, nil)
	}
	return answer == 1, err
}

// undo makes sure that a request takes nothing. It returns at once, and repeats its request until the server answers,
// or forgets the other one.
func (s *Semaphore) undo(n int, record string) {
	s.e.background.Go(func(life context.Context) {
		ctx, cancel := context.WithTimeout(life, requestRecordTime)
		defer cancel()
		for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
			_, err := s.e.run(ctx, func(publish string) call {
				return call{semaphoreUndo, []string{s.name, permitChannel(s.name), record},
					[]any{n, requestRecordTime.Milliseconds(), publish}}
			})
			if err == nil || driver.IsPermanent(err) {
				return
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		}
	})
}

// Acquire takes n permits, and waits until there are so many, or until ctx ends.
func (s *Semaphore) Acquire(ctx context.Context, n int) error {
	if err := s.check(n); err != nil {
		return err
	}
	var err error
	ended := s.e.pollUntil(ctx, permitChannel(s.name), false, func() (again time.Duration, done bool) {
		var ok bool
		ok, err = within(ctx, answerTimeout, func(ctx context.Context) (bool, error) { return s.TryAcquire(ctx, n) })
		return -1, ok || err != nil
	})
	if ended != nil {
		return ended
	}
	return err
}

// Release gives n permits back, or adds n: nobody counts who has taken them. If it returns an error that is not marked
// with driver.NoEffect, the server may have added them.
func (s *Semaphore) Release(ctx context.Context, n int) error {
	_, err := s.release(ctx, n, 0)
	return err
}

// ReleaseIfExists is Release if the semaphore exists, and reports whether it does.
func (s *Semaphore) ReleaseIfExists(ctx context.Context, n int) (bool, error) {
	return s.release(ctx, n, 1)
}

func (s *Semaphore) release(ctx context.Context, n, mustExist int) (bool, error) {
	if err := s.check(n); err != nil {
		return false, err
	}
	record := s.recordKey() // so that it may be repeated
	for attempt := 1; ; attempt++ {
		answer, err := readInteger(s.e.run(ctx, func(publish string) call {
			return call{semaphoreRelease, []string{s.name, permitChannel(s.name), record},
				[]any{n, requestRecordTime.Milliseconds(), publish, mustExist}}
		}))
		if err == nil || driver.IsPermanent(err) || ctx.Err() != nil || attempt == 3 {
			return answer == 1, err
		}
	}
}

// AddPermits adds n permits, and makes the semaphore if it does not exist.
func (s *Semaphore) AddPermits(ctx context.Context, n int) error { return s.Release(ctx, n) }

// TrySetPermits makes the semaphore with n permits, and reports whether it did: if it exists, nothing changes.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int) (bool, error) {
	if err := s.check(n); err != nil {
		return false, err
	}
	answer, err := readInteger(s.e.run(ctx, func(publish string) call {
		return call{semaphoreSet, []string{s.name, permitChannel(s.name)}, []any{n, publish}}
	}))
	return answer == 1, err
}

// DrainPermits takes all permits that are available, and returns how many they were. After an error they may be gone.
func (s *Semaphore) DrainPermits(ctx context.Context) (int, error) {
	if err := s.check(1); err != nil {
		return 0, err
	}
	answer, err := readInteger(s.e.run(ctx, func(string) call {
		return call{semaphoreDrain, []string{s.name}, nil}
	}))
	return int(answer), err
}

// AvailablePermits returns how many permits are available: 0 if the semaphore does not exist.
func (s *Semaphore) AvailablePermits(ctx context.Context) (int, error) {
	if err := s.check(1); err != nil {
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
