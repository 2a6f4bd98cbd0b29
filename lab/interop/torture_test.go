package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

const (
	tortureTime = 4 * time.Second
	// Each library has so many goroutines in each of two processes.
	goroutines = 2
	// The longest pauses of a foreign client before it tries again, and of all clients after a turn.
	// Leasehold checks a few times a second whether foreign clients have left the lock free, so it must be
	// free at times.
	foreignRetryPause, turnPause = 10 * time.Millisecond, 300 * time.Millisecond
	// These keys are not locks. The holder of the lock works on them.
	insideKey, countKey = "interop:inside", "interop:count"
)

// workerVariable makes this test binary a second process that contends. Its value is the URL of the server.
const workerVariable = "LEASEHOLD_INTEROP_WORKER"

// tally is what one process saw.
type tally struct {
	Turns    map[string]int // by library
	Refused  int            // how often a foreign client found the lock held
	Overlaps int            // how often two held the lock
}

// All libraries, in two processes, contend for one lock. Two never hold it, and all of them get turns.
func TestAllLibrariesContend(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	second := exec.Command(os.Args[0])
	second.Env = append(os.Environ(), workerVariable+"="+s.URL())
	second.Stderr = t.Output()
	var said bytes.Buffer
	second.Stdout = &said
	input, err := second.StdinPipe() // the second process ends when this is closed
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	ours, err := contend(t.Context(), s.URL())
	input.Close()
	if err != nil {
		t.Error(err)
	}
	if err := second.Wait(); err != nil {
		t.Fatalf("the second process: %v", err)
	}
	var theirs tally
	if err := json.Unmarshal(said.Bytes(), &theirs); err != nil {
		t.Fatalf("the second process said %q: %v", said.String(), err)
	}
	t.Logf("here: %+v, in the second process: %+v", ours, theirs)

	if n := ours.Overlaps + theirs.Overlaps; n != 0 {
		t.Errorf("%d times two held the lock", n)
	}
	if ours.Refused == 0 || theirs.Refused == 0 {
		t.Error("no client found the lock held: nothing was contended")
	}
	turns := 0
	for _, some := range []tally{ours, theirs} {
		for library, n := range some.Turns {
			if n == 0 {
				t.Errorf("%s had no turn", library)
			}
			turns += n
		}
	}
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	defer c.Close()
	counted, err := c.Get(t.Context(), countKey).Int()
	if err != nil {
		t.Fatal(err)
	}
	if counted != turns {
		t.Errorf("%d turns counted to %d: updates were lost", turns, counted)
	}
}

// worker is the second process.
func worker() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	saw, err := contend(ctx, os.Getenv(workerVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(saw); err != nil {
		return 1
	}
	return 0
}

// contend lets all libraries contend in this process.
func contend(ctx context.Context, url string) (saw tally, err error) {
	options, err := goredis.ParseURL(url)
	if err != nil {
		return saw, err
	}
	c := goredis.NewClient(options)
	defer c.Close()
	e, err := redis.Open(url + "?guard=off")
	if err != nil {
		return saw, err
	}
	defer e.Close()
	client := leasehold.New(e)
	defer client.Close()

	ctx, cancel := context.WithTimeout(ctx, tortureTime)
	defer cancel()
	saw.Turns = map[string]int{}
	var refused atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	compete := func(library string, lock turnFunc) {
		for range goroutines {
			wg.Go(func() {
				turns, overlaps, problem := compete(ctx, c, lock)
				mu.Lock()
				defer mu.Unlock()
				saw.Turns[library] += turns
				saw.Overlaps += overlaps
				if problem != nil {
					err = errors.Join(err, fmt.Errorf("%s: %w", library, problem))
				}
			})
		}
	}
	compete("leasehold", leaseholdTurn(client.Mutex(name)))
	for library, f := range foreignClients {
		compete(library, foreignTurn(f(c), &refused))
	}
	wg.Wait()
	saw.Refused = int(refused.Load())
	return saw, err
}

// turnFunc waits until it has the lock, and returns what releases it.
type turnFunc func(context.Context) (func() error, error)

func leaseholdTurn(m *leasehold.Mutex) turnFunc {
	return func(ctx context.Context) (func() error, error) {
		l, err := m.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return l.Release, nil
	}
}

func foreignTurn(lock tryLock, refused *atomic.Int64) turnFunc {
	return func(ctx context.Context) (func() error, error) {
		for {
			u, err := lock(context.WithoutCancel(ctx), key, leasehold.DefaultTTL)
			if err != nil {
				return nil, err
			}
			if u != nil {
				return func() error {
					removed, err := u(context.Background())
					if err == nil && !removed {
						err = errors.New("the key was not there any more, or had another value")
					}
					return err
				}, nil
			}
			refused.Add(1)
			if err := pause(ctx, foreignRetryPause); err != nil {
				return nil, err
			}
		}
	}
}

// compete takes turns until ctx ends. In each turn it does what only one holder may do at a time.
func compete(ctx context.Context, c *goredis.Client, lock turnFunc) (turns, overlaps int, err error) {
	for {
		unlock, err := lock(ctx)
		if ctx.Err() != nil && err != nil {
			return turns, overlaps, nil
		}
		if err != nil {
			return turns, overlaps, err
		}
		turns++
		alone, err := incrementCount(context.WithoutCancel(ctx), c) // a turn is always completed
		if !alone {
			overlaps++
		}
		if err := errors.Join(err, unlock()); err != nil {
			return turns, overlaps, err
		}
		if pause(ctx, turnPause) != nil {
			return turns, overlaps, nil
		}
	}
}

// incrementCount counts up in a way that loses counts if two do so at a time.
func incrementCount(ctx context.Context, c *goredis.Client) (alone bool, err error) {
	n, err := c.Incr(ctx, insideKey).Result()
	if err != nil {
		return true, err
	}
	counted, err := c.Get(ctx, countKey).Int()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return n == 1, err
	}
	if err := pause(ctx, time.Millisecond); err != nil {
		return n == 1, err
	}
	if err := c.Set(ctx, countKey, counted+1, 0).Err(); err != nil {
		return n == 1, err
	}
	left, err := c.Decr(ctx, insideKey).Result()
	return n == 1 && left == 0, err
}

// pause waits for a random time, so that the order of turns differs each time.
func pause(ctx context.Context, most time.Duration) error {
	select {
	case <-time.After(rand.N(most)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
