package interop

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// tryLock tries to take a key. If somebody else has it, unlock is nil.
type tryLock func(ctx context.Context, key string, ttl time.Duration) (unlock, error)

// unlock removes the key if it has the value that tryLock gave it, and reports whether it did.
type unlock func(context.Context) (removed bool, err error)

// foreignClients are clients of other makers. They lock with SET NX PX, and unlock with a script that
// compares and deletes.
var foreignClients = map[string]func(*redis.Client) tryLock{
	"redsync":   withRedsync,
	"redislock": withRedislock,
	"redis-cli": withCommand,
}

func withRedsync(c *redis.Client) tryLock {
	locks := redsync.New(goredis.NewPool(c))
	return func(ctx context.Context, key string, ttl time.Duration) (unlock, error) {
		m := locks.NewMutex(key, redsync.WithExpiry(ttl))
		err := m.TryLockContext(ctx)
		if _, taken := errors.AsType[*redsync.ErrTaken](err); taken {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (bool, error) {
			removed, err := m.UnlockContext(ctx)
			_, taken := errors.AsType[*redsync.ErrTaken](err)
			if taken || errors.Is(err, redsync.ErrLockAlreadyExpired) {
				err = nil
			}
			return removed, err
		}, nil
	}
}

func withRedislock(c *redis.Client) tryLock {
	locks := redislock.New(c)
	return func(ctx context.Context, key string, ttl time.Duration) (unlock, error) {
		l, err := locks.Obtain(ctx, key, ttl, nil)
		if errors.Is(err, redislock.ErrNotObtained) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (bool, error) {
			err := l.Release(ctx)
			if errors.Is(err, redislock.ErrLockNotHeld) {
				return false, nil
			}
			return err == nil, err
		}, nil
	}
}

// compareAndDelete is the script from the documentation of SET: https://redis.io/docs/latest/commands/set/#patterns.
const compareAndDelete = `if redis.call("get",KEYS[1]) == ARGV[1]
then return redis.call("del",KEYS[1])
else return 0
end`

func withCommand(c *redis.Client) tryLock {
	host, port, _ := net.SplitHostPort(c.Options().Addr)
	cli := func(ctx context.Context, args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "redis-cli", append([]string{"-h", host, "-p", port, "-e"}, args...)...).
			CombinedOutput()
		if err != nil {
			err = fmt.Errorf("redis-cli %s: %w: %s", args[0], err, out)
		}
		return strings.TrimSpace(string(out)), err
	}
	return func(ctx context.Context, key string, ttl time.Duration) (unlock, error) {
		value := rand.Text()
		said, err := cli(ctx, "SET", key, value, "NX", "PX", strconv.FormatInt(ttl.Milliseconds(), 10))
		if err != nil || said != "OK" {
			return nil, err
		}
		return func(ctx context.Context) (bool, error) {
			said, err := cli(ctx, "EVAL", compareAndDelete, "1", key, value)
			return said == "1", err
		}, nil
	}
}

// forEachClient runs a test with each foreign client.
func forEachClient(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Parallel()
	for name := range foreignClients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newFixture(t, name))
		})
	}
}
