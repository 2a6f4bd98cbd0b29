package redisson_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/redissonwire"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// TestPermitsAndLatchesAreRedissons is TestKeysAndMessagesAreRedissons for semaphores and latches. It compares what the
// calls return, too.
func TestPermitsAndLatchesAreRedissons(t *testing.T) {
	t.Parallel()
	for file, recorded := range map[string]struct {
		played  []string
		differs []string // parts of lines that are not compared, on purpose
	}{
		"permits": {[]string{
			"a permit expires", "a permit expires and is released", "a waiter takes over an expired permit",
		}, nil},
		// Redisson's permits without a lease have one in Go, and ids that were not granted count there.
		"permits ": {[]string{"several permits", "a waiter gets a permit"}, []string{"}:timeout zset {", "<permit"}},
		"semaphore": {[]string{
			"permits are taken and released", "permits of a semaphore that does not exist", "releaseIfExists",
			"a waiter gets a permit", "a waiter with a limit gets two permits", "a waiter is interrupted",
			"names with braces",
		}, nil},
		// Latches that Go has set have a time to live.
		"latch": {[]string{
			"a count goes down", "a waiter", "a waiter with a limit", "a waiter gives up", "delete",
			"a waiter is interrupted", "names with braces",
		}, []string{" string "}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			side := &wirePermits{&wireSide{t: t, server: s,
				engines: map[string]*redisson.Engine{}, held: map[string]driver.Request{}, labels: map[string]string{},
				interrupts: map[string]context.CancelFunc{}}}
			path := "testdata/wire/" + strings.TrimSpace(file) + ".txt"
			redissonwire.Play(t, path, side, redissonwire.Options{
				Parts: func(title string) bool { return slices.Contains(recorded.played, title) },
				Skip: func(_, line string) bool {
					differs := func(part string) bool { return strings.Contains(line, part) }
					return redissonwire.Effects("", line) || strings.HasPrefix(line, "w ") ||
						strings.HasPrefix(line, "k leasehold_") || slices.ContainsFunc(recorded.differs, differs)
				},
			}, s)
		})
	}
}

// wirePermits makes the recorded calls of semaphores and latches on engines.
type wirePermits struct{ *wireSide }

func (s *wirePermits) Call(ctx context.Context, c redissonwire.Call) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	e := s.engines[c.Client]
	s.interrupts[c.Client+":"+c.Thread] = cancel
	s.mu.Unlock()
	kind, method, _ := strings.Cut(c.Op, ".")
	switch kind {
	case "latch":
		return s.callLatch(ctx, e, method, c)
	case "semaphore":
		return callSemaphore(ctx, e.Semaphore(c.Name), method, c)
	}
	return s.callPermits(ctx, e, method, c)
}

// callSemaphore calls a semaphore without leases. Its calls have the arguments [permits] [wait "ms"].
func callSemaphore(ctx context.Context, s *redisson.Semaphore, method string, c redissonwire.Call) (any, error) {
	n, wait := 1, time.Duration(0)
	var numbers []int64
	for _, a := range c.Args {
		if number, ok := a.(int64); ok {
			numbers = append(numbers, number)
		}
	}
	if len(numbers) > 0 && slices.Contains(c.Args, any("ms")) {
		wait = time.Duration(numbers[len(numbers)-1]) * time.Millisecond
		numbers = numbers[:len(numbers)-1]
	}
	if len(numbers) > 0 {
		n = int(numbers[0])
	}
	switch method {
	case "trySetPermits":
		return s.TrySetPermits(ctx, n)
	case "addPermits":
		return nil, s.AddPermits(ctx, n)
	case "drainPermits":
		drained, err := s.DrainPermits(ctx)
		return int64(drained), err
	case "availablePermits":
		available, err := s.AvailablePermits(ctx)
		return int64(available), err
	case "release":
		return nil, s.Release(ctx, n)
	case "releaseIfExists":
		return s.ReleaseIfExists(ctx, n)
	case "tryAcquire":
		if n == 0 { // Go refuses that; Redisson sends nothing
			return true, nil
		} else if wait == 0 {
			return s.TryAcquire(ctx, n)
		}
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		err := s.Acquire(limited, n)
		if limited.Err() != nil && ctx.Err() == nil {
			return false, nil
		}
		return err == nil, err
	}
	err := s.Acquire(ctx, n)
	if ctx.Err() != nil {
		err = redissonwire.Failure("InterruptedException")
	}
	return nil, err
}

func (s *wirePermits) callPermits(
	ctx context.Context, e *redisson.Engine, method string, c redissonwire.Call,
) (any, error) {
	switch method {
	case "trySetPermits": // the engine has no such call, so this is what Redisson does
		_, err := s.server.Command("EVAL", `
			redis.call('set', KEYS[1], ARGV[1])
			redis.call('publish', KEYS[2], ARGV[1])`,
			"2", c.Name, "redisson_sc:{"+c.Name+"}", fmt.Sprint(c.Args[0]))
		return true, err
	case "availablePermits":
		return s.server.Command("GET", c.Name)
	case "acquire", "tryAcquire":
		return s.takePermits(ctx, e, method, c)
	}
	s.mu.Lock()
	r := s.held[c.Args[0].(string)]
	s.mu.Unlock()
	err := e.Release(ctx, driver.Release{Hold: holdOf(r)})
	if method == "release" {
		return nil, err
	}
	if errors.Is(err, driver.ErrNotHeld) {
		return false, nil
	}
	return err == nil, err
}

// takePermits does what acquire and tryAcquire do with their arguments: [permits] [wait] lease "ms".
func (s *wirePermits) takePermits(
	ctx context.Context, e *redisson.Engine, method string, c redissonwire.Call,
) (any, error) {
	var numbers []int64
	for _, a := range c.Args {
		if n, ok := a.(int64); ok {
			numbers = append(numbers, n)
		}
	}
	s.mu.Lock()
	s.owners++
	r := permits(c.Name, 100, 1)
	r.Owner = fmt.Sprint("owner", s.owners)
	s.mu.Unlock()
	several := len(numbers) == 3 || len(numbers) == 1 && len(c.Args) == 1
	if several {
		r.Weight, numbers = int(numbers[0]), numbers[1:]
	}
	if len(numbers) > 0 {
		r.TTL = time.Duration(numbers[len(numbers)-1]) * time.Millisecond
	}
	_, err := e.Take(ctx, r)
	if errors.Is(err, driver.ErrHeld) && (method == "acquire" || len(numbers) == 2 && numbers[0] > 0) {
		_, err = e.Wait(ctx, r)
	}
	if errors.Is(err, driver.ErrHeld) {
		if several {
			return []any{}, nil
		}
		return nil, nil
	}
	var ids []any
	for i := range r.Weight {
		id := hex.EncodeToString([]byte(redisson.PermitID(r.Owner, i+1)))
		ids = append(ids, id)
		s.mu.Lock()
		s.held[id] = r
		s.mu.Unlock()
	}
	if several {
		return ids, err
	}
	return ids[0], err
}

func (s *wirePermits) callLatch(
	ctx context.Context, e *redisson.Engine, method string, c redissonwire.Call,
) (any, error) {
	switch method {
	case "trySetCount":
		return e.TrySet(ctx, latchSet(c.Name, int(c.Args[0].(int64))))
	case "countDown":
		_, err := e.CountDown(ctx, latchDown(c.Name))
		if errors.Is(err, driver.ErrNotSet) {
			return nil, nil
		}
		return nil, err
	case "getCount":
		st, err := e.LatchState(ctx, c.Name)
		if errors.Is(err, driver.ErrNotSet) {
			return int64(0), nil
		}
		return int64(st.Count), err
	case "delete": // the engine has no such call, so this is what Redisson does
		deleted, err := s.server.Command("EVAL", `
			local deleted = redis.call('del', KEYS[1])
			if deleted == 1 then redis.call('publish', KEYS[2], '1') end
			return deleted`,
			"2", c.Name, "redisson_countdownlatch__channel__{"+c.Name+"}")
		return deleted == int64(1), err
	}
	st, err := e.LatchState(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	waiting := ctx
	if len(c.Args) > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(c.Args[0].(int64))*time.Millisecond)
		defer cancel()
		waiting = limited
	}
	err = e.WaitLatch(waiting, c.Name, st.Generation)
	switch {
	case ctx.Err() != nil:
		return nil, redissonwire.Failure("InterruptedException")
	case len(c.Args) == 0:
		return nil, err
	case waiting.Err() != nil:
		return false, nil
	}
	return err == nil, err
}
