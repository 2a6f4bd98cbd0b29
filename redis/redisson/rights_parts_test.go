package redisson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// as makes a client of a user with some rights.
func as(t *testing.T, s *redisserver.Server, user string, rules ...string) newClient {
	command(t, s, append([]string{"ACL", "SETUSER", user, "on", ">secret", "~*", "&*", "+@all"}, rules...)...)
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{
			Addr: s.Addr(), Username: user, Password: "secret", MaxRetries: -1,
		}))
	}
}

// Who may not send messages changes nothing that an error says was not changed.
func TestWhoMayNotPublishChangesNothing(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	direct := open(t, standalone(s), redisson.WithLock(redisson.ReadWrite))
	e := open(t, as(t, s, "mute", "resetchannels"), redisson.WithLock(redisson.ReadWrite))
	must(t, direct.Semaphore("permits").AddPermits(t.Context(), 2))
	command(t, s, "SET", "java", "1") // a latch
	hold := driver.Hold{Key: driver.Key{Kind: driver.Lock, Name: "lock"}, Owner: "1"}
	_, err := direct.Take(t.Context(), driver.Request{Key: hold.Key, Owner: "1", Weight: 1, Size: 1, TTL: time.Minute})
	must(t, err)
	before := snapshot(t, s)
	permits, none := e.Semaphore("permits"), e.Semaphore("none")
	for name, call := range map[string]func() error{
		"Release": func() error { return permits.Release(t.Context(), 1) },
		"TrySetPermits": func() error {
			_, err := none.TrySetPermits(t.Context(), 1)
			return err
		},
		"TrySetPermitsFor": func() error {
			_, err := none.TrySetPermitsFor(t.Context(), 1, time.Minute)
			return err
		},
		"TrySet": func() error {
			_, err := e.TrySet(t.Context(), driver.LatchSet{Name: "go", ID: "1", Count: 1, TTL: time.Minute})
			return err
		},
		"CountDown": func() error {
			_, err := e.CountDown(t.Context(), driver.LatchDown{Name: "java", ID: "1", TTL: time.Minute})
			return err
		},
		"DeleteLatch": func() error {
			_, err := e.DeleteLatch(t.Context(), "java")
			return err
		},
		"Downgrade": func() error { return e.Downgrade(t.Context(), hold) },
	} {
		if err := call(); !isRightsError(err) {
			t.Errorf("%s: %v, want that rights are missing", name, err)
		}
		if after := snapshot(t, s); after != before {
			t.Errorf("%s: there is\n%s, want\n%s", name, after, before)
		}
	}
}

// Neither does a forced release.
func TestWhoMayNotPublishTakesNothingAway(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	mute := as(t, s, "mute", "resetchannels")
	for name, lock := range lockTypes {
		direct, e := open(t, standalone(s), redisson.WithLock(lock)), open(t, mute, redisson.WithLock(lock))
		for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore} {
			k := driver.Key{Kind: kind, Name: fmt.Sprint(name, kind)}
			g, err := direct.Take(t.Context(), driver.Request{Key: k, Owner: "1", Weight: 1, Size: 1, TTL: time.Minute})
			if errors.Is(err, driver.ErrUnsupported) {
				continue
			}
			must(t, err)
			token := g.Token
			if kind == driver.Lock && (lock == redisson.Plain || lock == redisson.Spin) {
				token = 0
			}
			if err := e.ForceRelease(t.Context(), k, token); !isRightsError(err) {
				t.Errorf("%s: %v, want that rights are missing", k.Name, err)
			}
			must(t, direct.Release(t.Context(), driver.Release{Hold: driver.Hold{Key: k, Owner: "1"}}))
		}
	}
}

func isRightsError(err error) bool {
	_, missing := errors.AsType[*reply.RightsError](err)
	return missing && driver.IsPermanent(err)
}

// snapshot returns what a server has, but for records of calls.
func snapshot(t *testing.T, s *redisserver.Server) (all string) {
	t.Helper()
	for _, key := range []string{"permits", "none", "go", "java", "leasehold_latch:{go}", "leasehold_latch:{java}",
		"lock", "leasehold_holders:{lock}"} {
		value, err := s.Command("DUMP", key)
		must(t, err)
		all += fmt.Sprintf("%s: %q\n", key, value)
	}
	return all
}

// A take that the server refuses in the middle of its script, as the user lacks a right, leaves no lock behind.
func TestTakesThatAreRefusedInTheMiddleLeaveNothing(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, lock := range lockTypes {
		for missing, c := range map[string]struct {
			mode  driver.Mode
			rules []string
		}{
			"pexpire":         {driver.Exclusive, []string{"-pexpire"}},
			"pexpire to read": {driver.Shared, []string{"-pexpire"}},
			"some keys to read": {driver.Shared, []string{
				"resetkeys", "~app:*", "~redisson_*{app:*", "~leasehold_*{app:*",
			}},
		} {
			if c.mode == driver.Shared && lock != redisson.ReadWrite {
				continue
			}
			r := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: name + missing}, Mode: c.mode,
				Owner: "1", Weight: 1, Size: 1, TTL: time.Minute}
			user := strings.ReplaceAll(r.Name, " ", "-")
			e := open(t, as(t, s, user, c.rules...), redisson.WithLock(lock), redisson.WithPrefix("app:"))
			if _, err := e.Take(t.Context(), r); !isRightsError(err) {
				t.Errorf("%s: %v, want that rights are missing", r.Name, err)
			}
			if n := command(t, s, "EXISTS", "app:"+r.Name); n != int64(0) {
				t.Errorf("%s: the lock is left behind for %v ms", r.Name, command(t, s, "PTTL", "app:"+r.Name))
			}
		}
	}
}
