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

// ofSemaphore are the deviations of RSemaphore.
var ofSemaphore = []redissonwire.Deviation{
	{Why: "Each call is remembered until it was answered.", Line: `^[kw] .*leasehold_semaphore:.*`},
	{Why: "Permits are added, and not the sum written, and nothing is when none are drained. The key shows the sum.",
		Line: `^w (set|incrby) \S+ -?\d+$`},
}

// ofPermits are those of RPermitExpirableSemaphore.
var ofPermits = []redissonwire.Deviation{
	{Why: "Tokens, and texts about holders, are in keys of their own.", Line: `^[kw] .*leasehold_permits(_set)?:.*`},
	{Why: "What has ended is removed by its end, not by its id; a permit that is gone is not removed again. The key " +
		"shows what is left.", Line: `^w zrem(rangebyscore)? .*`},
	{Why: "Permits without a lease have one.", Line: `\b922337203685477\b|\bnow\+60000\b`, To: "END"},
}

// ofRefusedPermits are more of those.
var ofRefusedPermits = append(slices.Clone(ofPermits),
	redissonwire.Deviation{
		Why: "A waiter does not make new ids for each request, which count.", Line: `<permit\d+>`, To: "<permit>",
	})

// ofLatch are those of RCountDownLatch.
var ofLatch = []redissonwire.Deviation{
	{Why: "A key of its own says who has set the latch, and who counted down.", Line: `^[kw] .*leasehold_latch:.*`},
	{Why: "A delete notifies waiters, who would sleep on.", Line: `^(m|w publish) (\S+{deleted}) [01]$`, To: "$1 $2"},
}

// TestPermitsAndLatchesAreRedissons is TestWritesOfLocksAreRedissons for semaphores and latches. It compares what the
// calls return, too. What is left out are calls that only Java has.
func TestPermitsAndLatchesAreRedissons(t *testing.T) {
	t.Parallel()
	for file, recorded := range map[string]struct {
		played     []string
		deviations []redissonwire.Deviation
	}{
		"permits": {[]string{
			"permits are set", "permits are taken and released", "a permit expires", "a permit expires and is released",
			"permits with a ttl", "names with braces",
		}, ofPermits},
		"permits ": {[]string{
			"permits with a lease", "a waiter takes over an expired permit", "several permits",
			"a waiter gets a permit", "a waiter gives up",
		}, ofRefusedPermits},
		"semaphore": {[]string{
			"permits are set", "permits are added to nothing", "permits with a ttl", "permits are taken and released",
			"permits of a semaphore that does not exist", "releaseIfExists", "a waiter gets a permit",
			"a waiter with a limit gets two permits", "a waiter is interrupted", "names with braces",
		}, ofSemaphore},
		"latch": {[]string{
			"a count goes down", "a waiter", "a waiter with a limit", "a waiter gives up", "delete",
			"a waiter is interrupted", "names with braces",
		}, ofLatch},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			setup := func() (redissonwire.Side, []*redisserver.Server) {
				side := newWireSide(t, redisson.Fenced)
				return &wirePermits{side}, []*redisserver.Server{side.server}
			}
			path := "testdata/wire/" + strings.TrimSpace(file) + ".txt"
			w := redissonwire.NewRewriter(recorded.deviations)
			w.Kinds += "=!"
			redissonwire.Play(t, path, setup, redissonwire.Options{
				Parts:   func(title string) bool { return slices.Contains(recorded.played, title) },
				Rewrite: w.Rewrite,
			})
			w.CheckUsed(t)
		})
	}
}

// wirePermits makes the recorded calls of semaphores and latches on engines.
type wirePermits struct{ *wireSide }

func (s *wirePermits) Call(ctx context.Context, c redissonwire.Call) (any, error) {
	ctx, end := s.begin(ctx, c)
	defer end()
	s.mu.Lock()
	e := s.engines[c.Client]
	s.mu.Unlock()
	kind, method, _ := strings.Cut(c.Op, ".")
	switch kind {
	case "latch":
		return s.callLatch(ctx, e, method, c)
	case "semaphore":
		if method == "delete" {
			return s.delete(c)
		}
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
		if len(c.Args) > 1 { // "PT20S"
			d, err := time.ParseDuration(strings.ToLower(strings.TrimPrefix(c.Args[1].(string), "PT")))
			if err != nil {
				return nil, err
			}
			return s.TrySetPermitsFor(ctx, n, d)
		}
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
	case "acquire", "tryAcquire":
		return s.takePermits(ctx, e, method, c)
	case "release", "tryRelease", "updateLeaseTime":
		s.mu.Lock()
		r := s.held[c.Args[0].(string)]
		s.mu.Unlock()
		var err error
		if method == "updateLeaseTime" {
			err = renewOne(ctx, e, r, time.Duration(c.Args[1].(int64))*time.Millisecond)
		} else {
			err = e.Release(ctx, driver.Release{Hold: holdOf(r)})
		}
		switch isGone := errors.Is(err, driver.ErrNotHeld); {
		case method == "release" && isGone:
			return nil, redissonwire.Failure("RedisException")
		case method == "release":
			return nil, err
		case isGone:
			return false, nil
		}
		return err == nil, err
	case "delete":
		return s.delete(c)
	case "getLeaseTime":
		left, held, err := e.PermitExpirableSemaphore(c.Name).LeaseTime(ctx, c.Args[0].(string))
		switch {
		case err == nil && !held:
			return nil, redissonwire.Failure("RedisException")
		case left > 50*time.Second: // it was taken without a lease
			left = -time.Millisecond
		}
		return left.Milliseconds(), err
	}
	return numberOfPermits(ctx, e.PermitExpirableSemaphore(c.Name), method, c)
}

// delete is a call that the engine does not have, with what Redisson writes.
func (s *wirePermits) delete(c redissonwire.Call) (any, error) {
	tag := c.Name
	if !strings.Contains(tag, "{") {
		tag = "{" + tag + "}"
	}
	deleted, err := s.server.Command("DEL", c.Name, tag+":timeout")
	return deleted != int64(0), err
}

// numberOfPermits asks how many permits there are, or changes that.
func numberOfPermits(
	ctx context.Context, s *redisson.PermitExpirableSemaphore, method string, c redissonwire.Call,
) (any, error) {
	switch method {
	case "trySetPermits":
		return s.TrySetPermits(ctx, int(c.Args[0].(int64)))
	case "setPermits":
		return nil, s.SetPermits(ctx, int(c.Args[0].(int64)))
	case "addPermits":
		return nil, s.AddPermits(ctx, int(c.Args[0].(int64)))
	}
	available, held, err := s.CountPermits(ctx)
	return map[string]int64{
		"availablePermits": int64(available), "acquiredPermits": int64(held), "getPermits": int64(available + held),
	}[method], err
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
	wait := time.Duration(0)
	if len(numbers) == 2 || method == "tryAcquire" && len(numbers) == 1 {
		wait = time.Duration(numbers[0]) * time.Millisecond
	}
	if len(numbers) == 1 && wait > 0 { // tryAcquire with a wait and no lease
		r.TTL = time.Minute
	}
	_, err := e.Take(ctx, r)
	if errors.Is(err, driver.ErrHeld) && (method == "acquire" || wait > 0) {
		limited := ctx
		if wait > 0 {
			var cancel context.CancelFunc
			limited, cancel = context.WithTimeout(ctx, wait)
			defer cancel()
		}
		if _, err = e.Wait(limited, r); limited.Err() != nil && ctx.Err() == nil {
			err = driver.ErrHeld
		}
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
		return e.TrySet(ctx, endlessLatch(c.Name, int(c.Args[0].(int64))))
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
	case "delete":
		return e.DeleteLatch(ctx, c.Name)
	}
	st, err := e.LatchState(ctx, c.Name)
	if ctx.Err() != nil {
		return nil, redissonwire.Failure("InterruptedException")
	} else if err != nil {
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
