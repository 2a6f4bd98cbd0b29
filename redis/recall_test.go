package redis_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// takeRecallable takes a name for an owner with that Recall. It takes it again if the server was too slow to confirm
// the channel.
func takeRecallable(t *testing.T, e *redis.Engine, name string, recall func() bool) (r driver.Request) {
	t.Helper()
	eventually(t, "the lock can be recalled", func() bool {
		r = lasting(name, time.Minute)
		r.Recall = recall
		g, err := e.Take(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if !g.Recallable {
			_ = e.Release(t.Context(), driver.Release{Hold: hold(r)})
		}
		return g.Recallable
	})
	return r
}

// A holder may let go at once when it is recalled, also if that is because the connection for messages is lost.
func TestARecallMayRelease(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	for i := range 10 {
		var held atomic.Pointer[driver.Request]
		r := takeRecallable(t, a, fmt.Sprint(i), func() bool {
			if r := held.Load(); r != nil {
				_ = a.Release(context.Background(), driver.Release{Hold: hold(*r)})
			}
			return false
		})
		held.Store(&r)
	}
	command(t, s, "CLIENT", "KILL", "TYPE", "pubsub")
	for i := range 10 {
		eventually(t, "a lock is free whose recalls may be lost", func() bool {
			_, err := b.Take(t.Context(), lasting(fmt.Sprint(i), time.Minute))
			return err == nil
		})
	}
	if n := a.Recallables(); n > 0 {
		t.Errorf("%d owners that have let go would be recalled", n)
	}
}

// A waiter that may not publish cannot recall. The holder learns of it with its next renewal.
func TestARenewalRecallsIfSomebodyWaits(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	rights := append(smallestRights(t), "-publish", "-spublish", "-subscribe", "-ssubscribe", "resetchannels")
	addUser(t, s, "silent", rights)
	a, b := unguarded(t, standalone(s)), unguarded(t, asUser(s, "silent"))
	var recalls atomic.Int32
	r := takeRecallable(t, a, "a", func() bool { recalls.Add(1); return true })
	if err := renewOne(t.Context(), a, hold(r), time.Minute); err != nil || recalls.Load() > 0 {
		t.Fatalf("%v, %d recalls without a waiter", err, recalls.Load())
	}
	waiter := lasting("a", time.Minute)
	waiter.Join = true
	if _, err := b.Take(t.Context(), waiter); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	if n := recalls.Load(); n > 0 {
		t.Fatalf("%d recalls: the waiter may publish, and the test shows nothing", n)
	}
	if err := renewOne(t.Context(), a, hold(r), time.Minute); err != nil || recalls.Load() != 1 {
		t.Errorf("%v, %d recalls, want one", err, recalls.Load())
	}
	if !a.Wanted(r.Key) {
		t.Error("the name is not known to be wanted")
	}
	if err := a.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
		t.Error(err)
	}
}

// An owner that does not hold any more is forgotten, however that comes out.
func TestOwnersThatDoNotHoldAreNotRecalled(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	lose := func(r driver.Request) {
		all, err := e.List(t.Context(), driver.Query{Kind: driver.Lock, Name: r.Name})
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, h := range all[0].Holders {
			if err := e.ForceRelease(t.Context(), r.Key, h.Token); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, end := range map[string]func(r driver.Request) error{
		"released": func(r driver.Request) error {
			_ = e.Release(t.Context(), driver.Release{Hold: hold(r)})
			return driver.ErrNotHeld
		},
		"not renewed": func(r driver.Request) error {
			lose(r)
			return renewOne(t.Context(), e, hold(r), time.Minute)
		},
		"not downgraded": func(r driver.Request) error {
			lose(r)
			return e.Downgrade(t.Context(), hold(r))
		},
		"downgraded, and lost while others read": func(r driver.Request) error {
			if err := e.Downgrade(t.Context(), hold(r)); err != nil {
				return err
			}
			lose(r)
			if _, err := e.Take(t.Context(), shared(lasting(r.Name, time.Minute))); err != nil {
				return err
			}
			return renewOne(t.Context(), e, hold(r), time.Minute)
		},
		"refused": func(r driver.Request) error {
			other := lasting(r.Name, time.Minute)
			other.Recall = func() bool { return false }
			if _, err := e.Take(t.Context(), other); !errors.Is(err, driver.ErrHeld) {
				return err
			}
			return e.Release(t.Context(), driver.Release{Hold: hold(r)})
		},
		"cancelled": func(r driver.Request) error {
			_ = e.Release(t.Context(), driver.Release{Hold: hold(r)})
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			r = lasting(r.Name, time.Minute)
			r.Recall = func() bool { return false }
			_, _ = e.Take(ctx, r)
			return nil
		},
		"out of tokens": func(r driver.Request) error {
			another := lasting("another", time.Minute)
			another.Recall, another.Tokens = func() bool { return false }, math.MaxInt
			if _, err := e.Take(t.Context(), another); err == nil {
				t.Error("all tokens were granted")
			}
			return e.Release(t.Context(), driver.Release{Hold: hold(r)})
		},
	} {
		r := takeRecallable(t, e, name, func() bool { return false })
		if err := end(r); err != nil && !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("%s: %v", name, err)
		}
		if n := e.Recallables(); n > 0 {
			t.Fatalf("%s: %d owners would be recalled", name, n)
		}
	}
}

// Whoever may publish can make a process answer, but not use up its memory.
func TestAnswersToRecallsAreFew(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	var recalls atomic.Int32
	var most atomic.Int32
	r := takeRecallable(t, e, "a", func() bool {
		recalls.Add(1)
		most.Store(max(most.Load(), int32(e.Answering()))) // one message is handled at a time
		return true
	})
	channels := command(t, s, "PUBSUB", "CHANNELS", "*wake:*").([]any)
	if len(channels) != 1 {
		t.Fatalf("the channels are %v", channels)
	}
	channel := channels[0].(string)
	process := channel[strings.LastIndex(channel, ":")+1:]
	const messages = 5000
	command(t, s, "EVAL", "for i = 1, ARGV[1] do redis.call('PUBLISH', ARGV[2], ARGV[3]) end", "0",
		fmt.Sprint(messages), channel, "r P "+process+" 7 lock:a")
	eventually(t, "all messages have been handled", func() bool { return recalls.Load() == messages })
	if n := most.Load(); n == 0 || n > 64 {
		t.Errorf("at most %d answers were in flight, want 1 to 64", n)
	}
	eventually(t, "all answers are sent", func() bool { return e.Answering() == 0 })
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
		t.Error(err)
	}
}

// The server of a slot of a Cluster is known before its channel is asked for: a server that does not have the slot
// would end the connection of all channels, and so recall all idle locks there.
func TestLocksOfAllServersOfAClusterMayBeRecalled(t *testing.T) {
	t.Parallel()
	s := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	e := unguarded(t, cluster(s))
	var recalls atomic.Int32
	var all []driver.Request
	for i := range 40 {
		all = append(all, takeRecallable(t, e, fmt.Sprint(i), func() bool { recalls.Add(1); return true }))
	}
	for _, r := range all {
		if err := renewOne(t.Context(), e, hold(r), time.Minute); err != nil {
			t.Error(err)
		}
	}
	if n := recalls.Load(); n > 0 {
		t.Errorf("%d recalls, and nobody has asked", n)
	}
}
