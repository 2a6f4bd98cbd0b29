package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// smallestRights are the rights that suffice for everything that an engine can do, except those for doctor.
func smallestRights(t *testing.T) (words []string) {
	t.Helper()
	for _, set := range []string{"operate", "lock", "look"} {
		for _, word := range documentedRights(t, set) {
			isKey := strings.Contains(word, "~")
			if (!isKey || set == "operate") && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

const userPassword = "password-of-a-test-user" // which no script contains

// addUser adds a user with some rights and no others.
func addUser(t *testing.T, s *redisserver.Server, user string, rights []string) {
	t.Helper()
	command(t, s, append([]string{"ACL", "SETUSER", user, "reset", "on", ">" + userPassword}, rights...)...)
}

func asUser(s *redisserver.Server, user string) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: s.Addr(), Username: user, Password: userPassword}))
	}
}

func TestContractWithTheSmallestRights(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	addUser(t, s, "locks", smallestRights(t))
	suite(t, asUser(s, "locks"), redis.WithoutFailoverGuard())
}

// Whichever right is missing, the engine does without it or says so at once. It leaves behind nothing without an end.
func TestEachRightThatIsMissing(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"databases 1"}})
	all := smallestRights(t)
	// Rights that the engine does not need on one server without replicas.
	spare := strings.Fields("+ping +unwatch +unsubscribe +subscribe +publish +wait +spublish +ssubscribe " +
		"+sunsubscribe +cluster|nodes +cluster|slots +asking")
	for i, word := range all {
		if !strings.HasPrefix(word, "+") {
			continue
		}
		user := "without-" + strings.TrimPrefix(word, "+")
		addUser(t, s, user, slices.Delete(slices.Clone(all), i, i+1))
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			err := useAll(t, asUser(s, user), user)
			switch {
			case err == nil:
				if !slices.Contains(spare, word) {
					t.Error("everything works: the right is not needed")
				}
			case slices.Contains(spare, word):
				t.Errorf("%v, want that it works without the right", err)
			case !driver.IsPermanent(err) || !strings.Contains(err.Error(), "smallest rights"):
				t.Errorf("the error is %v (permanent: %v), want a permanent one about rights", err,
					driver.IsPermanent(err))
			}
			if keys := slices.DeleteFunc(endlessKeys(t, s),
				func(key string) bool { return !strings.Contains(key, user) }); len(keys) > 0 {
				t.Errorf("these keys have no end: %q", keys)
			}
		})
	}
}

// If a user may not use a channel, or not send messages, waiters poll.
func TestWithoutMessages(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	all := smallestRights(t)
	for _, without := range []string{"&", "+subscribe", "+publish", "&{"} {
		user := "without-" + without
		addUser(t, s, user, slices.DeleteFunc(slices.Clone(all),
			func(word string) bool { return strings.HasPrefix(word, without) }))
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			if err := useAll(t, asUser(s, user), user); err != nil {
				t.Error(err)
			}
		})
	}
}

// A key that the user may not touch is reported at once as well.
func TestForbiddenKey(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	rights := slices.DeleteFunc(smallestRights(t), func(word string) bool { return strings.HasPrefix(word, "~") })
	addUser(t, s, "orders", append(rights, "~lock:orders:*", "~{lock:orders:*", "~{lock:}:removal*"))
	e := unguarded(t, asUser(s, "orders"))
	if err := useAll(t, asUser(s, "orders"), "orders:1"); err != nil {
		t.Error(err)
	}
	if _, err := e.Take(t.Context(), lock("carts:1")); !driver.IsPermanent(err) ||
		!strings.Contains(err.Error(), "smallest rights") {
		t.Errorf("a forbidden name: %v, want a permanent error about rights", err)
	}
}

// A user whose password is wrong, or who does not exist, gets no lock, and is told why at once.
func TestNoUser(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Password: "other"})
	for name, client := range map[string]newClient{
		"wrong password": asUser(s, "default"),
		"no password":    standalone(s),
	} {
		_, err := unguarded(t, client).Take(t.Context(), lock("a"))
		if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "password") ||
			strings.Contains(err.Error(), userPassword) {
			t.Errorf("%s: %v, want a permanent error that asks for a password", name, err)
		}
	}
}

// atOnce is the longest that an outcome may take when the machine is busy with many other tests. An engine that waits
// for messages in vain polls after maxPollInterval, which is longer.
const atOnce = 9 * time.Second

// useAll performs everything that an engine can do on a name. It returns the first error.
func useAll(t *testing.T, client newClient, name string) error {
	t.Helper()
	a, b := unguarded(t, client), unguarded(t, client)
	ctx := t.Context()
	var first error
	do := func(what string, f func(ctx context.Context) error) bool {
		if first != nil {
			return false
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := f(ctx); err != nil {
			first = fmt.Errorf("%s: %w", what, err)
		}
		if took := time.Since(began); took > atOnce {
			t.Errorf("%s took %v (%v), want an outcome at once", what, took, first)
		}
		return first == nil
	}
	take := func(e *redis.Engine, r driver.Request) func(context.Context) error {
		return func(ctx context.Context) error { _, err := e.Take(ctx, r); return err }
	}
	free := func(e *redis.Engine, r driver.Request) func(context.Context) error {
		return func(ctx context.Context) error { return e.Release(ctx, driver.Release{Hold: hold(r)}) }
	}
	longer := func(r driver.Request) func(context.Context) error {
		return func(ctx context.Context) error { return renewOne(ctx, a, hold(r), time.Minute) }
	}
	const ttl = 20 * time.Second

	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
		holder, waiter := lasting(name, ttl), lasting(name, ttl)
		holder.Mode, waiter.Join = mode, true
		do("take", take(a, holder))
		do("renew", longer(holder))
		if do("join", func(ctx context.Context) error {
			if _, err := b.Take(ctx, waiter); !errors.Is(err, driver.ErrHeld) {
				return fmt.Errorf("Take of what is held: %w", err)
			}
			return nil
		}) {
			got := startWait(t, b, waiter)
			do("list", func(ctx context.Context) error {
				_, err := b.List(ctx, driver.Query{Prefix: name, Queue: true})
				return err
			})
			do("find leaks", func(ctx context.Context) error {
				all, err := findLeaks(ctx, b, driver.Query{Prefix: name})
				if len(all) > 0 {
					return fmt.Errorf("leaks: %+v", all)
				}
				return err
			})
			do("hand over", func(ctx context.Context) error {
				err := free(a, holder)(ctx)
				if err == nil {
					err = (<-got).err
				}
				return err
			})
			do("downgrade", func(ctx context.Context) error { return b.Downgrade(ctx, hold(waiter)) })
			do("force", func(ctx context.Context) error {
				return a.ForceRelease(ctx, waiter.Key, status(t, a, waiter.Key).Holders[0].Token)
			})
		}
	}
	do("record", func(ctx context.Context) error {
		if err := a.Record(ctx, removal(name, driver.Asked)); err != nil {
			return err
		}
		_, err := a.Records(ctx, 0)
		return err
	})
	permit := lasting(name, ttl)
	permit.Kind, permit.Size = driver.Semaphore, 2
	do("take a permit", take(a, permit))
	do("renew a permit", longer(permit))
	do("release a permit", free(a, permit))
	set := driver.LatchSet{Name: name, ID: "1", Count: 1, TTL: ttl}
	do("latch", func(ctx context.Context) error {
		if _, err := a.TrySet(ctx, set); err != nil {
			return err
		}
		st, err := a.LatchState(ctx, name)
		if err != nil {
			return err
		}
		done := make(chan error, 1)
		go func() { done <- b.WaitLatch(ctx, name, st.Generation) }()
		if _, err := a.CountDown(ctx, driver.LatchDown{Name: name, ID: "2", TTL: ttl}); err != nil {
			return err
		}
		return <-done
	})
	return first
}

// In a Cluster, every node has its own users.
func TestSmallestRightsInACluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	all := smallestRights(t)
	as := func(user string) newClient {
		return func(t *testing.T) goredis.UniversalClient {
			return closed(t, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs(), Username: user,
				Password: userPassword}))
		}
	}
	for without, needed := range map[string]bool{
		"nothing":        false,
		"+publish":       false, // needed on a single server only
		"+spublish":      false,
		"+ssubscribe":    false,
		"&":              false,
		"+cluster|nodes": true,
		"+cluster|slots": true,
	} {
		user := "without-" + without
		for _, node := range c.Nodes {
			addUser(t, node, user, slices.DeleteFunc(slices.Clone(all),
				func(word string) bool { return strings.HasPrefix(word, without) }))
		}
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			err := useAll(t, as(user), user)
			if err != nil != needed || needed && !driver.IsPermanent(err) {
				t.Errorf("%v (permanent: %v), want a permanent error: %v", err, driver.IsPermanent(err), needed)
			}
		})
	}
}
