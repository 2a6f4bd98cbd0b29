package redisson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// What another program keeps in a hash is neither taken for a lock nor changed, whatever its fields are called.
func TestHashesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	hashes := map[string][]string{
		"settings": {"mode", "dark", "theme", "x", "size", "5"},
		"files":    {"mode", "strict", "disk:write", "yes", "disk:read", "yes"},
		"reader":   {"mode", "read", "bytes", "10737418240"},
		"counters": {"visits", "17"},
	}
	for name, fields := range hashes {
		_, err := s.Command(append([]string{"HSET", name}, fields...)...)
		must(t, err)
	}
	locks := map[string]redisson.LockType{"Plain": redisson.Plain}
	for name, lock := range lockTypes {
		locks[name] = lock
	}
	for kind, lock := range locks {
		e := open(t, standalone(s), redisson.WithLock(lock))
		for name, fields := range hashes {
			k := driver.Key{Kind: driver.Lock, Name: name}
			for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
				if mode == driver.Shared && lock != redisson.ReadWrite {
					continue
				}
				_, err := e.Take(t.Context(), driver.Request{
					Key: k, Owner: "owner", Mode: mode, Size: 1, Weight: 1, TTL: time.Minute, Tokens: 1,
				})
				if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "use another prefix or name") {
					t.Errorf("%s: Take of %s: %v", kind, name, err)
				}
			}
			_, err := e.List(t.Context(), driver.Query{Name: name})
			if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "use another prefix or name") {
				t.Errorf("%s: List of %s: %v", kind, name, err)
			}
			if err := e.ForceRelease(t.Context(), k, 0); err != driver.ErrNotHeld {
				t.Errorf("%s: ForceRelease of %s: %v", kind, name, err)
			}
			left, err := s.Command("HLEN", name)
			must(t, err)
			ends, err := s.Command("PTTL", name)
			must(t, err)
			if left != int64(len(fields)/2) || ends != int64(-1) {
				t.Errorf("%s: %v fields of %s are left, which ends in %v ms", kind, left, name, ends)
			}
		}
		for _, words := range [][]string{{"SET", "word", "x"}, {"ZADD", "scores", "1", "x"}, {"SET", "number", "7"}} {
			_, err := s.Command(words...)
			must(t, err)
			_, err = e.List(t.Context(), driver.Query{Name: words[1]})
			if number := words[1] == "number"; driver.IsPermanent(err) == number || number != (err == nil) {
				t.Errorf("%s: List of %s: %v", kind, words[1], err)
			}
		}
		if all, err := e.List(t.Context(), driver.Query{Kind: driver.Lock}); err != nil || len(all) != 0 {
			t.Errorf("%s: listed %v, %v, want nothing", kind, all, err)
		}
	}
}

// A lock of another type is held, and not something of another program.
func TestLocksOfOtherTypesAreHeld(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, fields := range map[string][]string{
		"plain":   {javaOwner, "1"},
		"fenced":  {javaOwner, "1", "leasehold:token", "7", "leasehold:holder", "somebody"},
		"writer":  {"mode", "write", javaOwner + ":write", "1"},
		"readers": {"mode", "read", javaOwner, "1", another, "2"},
	} {
		_, err := s.Command(append([]string{"HSET", name}, fields...)...)
		must(t, err)
		_, err = s.Command("PEXPIRE", name, "60000")
		must(t, err)
	}
	for kind, lock := range lockTypes {
		e := open(t, standalone(s), redisson.WithLock(lock))
		for _, name := range []string{"plain", "fenced", "writer", "readers"} {
			if lock == redisson.ReadWrite && name == "readers" {
				continue // its readers have no leases of their own
			}
			_, err := e.Take(t.Context(), driver.Request{
				Key: driver.Key{Kind: driver.Lock, Name: name}, Owner: "owner", Size: 1, Weight: 1, TTL: time.Minute,
				Tokens: 1,
			})
			if !errors.Is(err, driver.ErrHeld) {
				t.Errorf("%s: Take of %s: %v", kind, name, err)
			}
		}
	}
}

// A hold count that no thread can have does not keep the server busy.
func TestHoldCountThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	_, err := s.Command("HSET", "orders", "mode", "read", javaOwner, "10737418240")
	must(t, err)
	e := open(t, standalone(s), redisson.WithLock(redisson.ReadWrite))
	_, err = e.List(t.Context(), driver.Query{Kind: driver.Lock})
	must(t, err) // it would end after some seconds
}

// A repeated take answers with the same token, also if tokens are large.
func TestLargeTokens(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for kind, lock := range lockTypes {
		if lock == redisson.Plain || lock == redisson.Spin {
			continue // they have no counter
		}
		_, err := s.Command("SET", fmt.Sprintf("redisson_lock_token:{%s}", kind), "1700000000000000")
		must(t, err)
		e := open(t, standalone(s), redisson.WithLock(lock))
		for range 2 {
			g, err := e.Take(t.Context(), driver.Request{
				Key:   driver.Key{Kind: driver.Lock, Name: kind},
				Owner: "owner", Size: 1, Weight: 1, TTL: time.Minute, Tokens: 1,
			})
			if err != nil || g.Token != 1700000000000001 {
				t.Errorf("%s: token %d, %v", kind, g.Token, err)
			}
		}
	}
}
