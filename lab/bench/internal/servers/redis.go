package servers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// Redis is one Redis server.
type Redis struct {
	addr    string
	version string              // with the name of the product
	started *redisserver.Server // nil if the server was given
	client  *goredis.Client
}

// OpenRedis starts a server or, if addr is not empty, uses a running one.
func OpenRedis(ctx context.Context, addr string) (*Redis, error) {
	r := &Redis{addr: addr}
	if addr == "" {
		s, err := redisserver.Start(redisserver.Config{})
		if err != nil {
			return nil, err
		}
		r.started, r.addr = s, s.Addr()
	}
	r.client = goredis.NewClient(&goredis.Options{Addr: r.addr})
	info, err := r.info(ctx, "server")
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("the Redis at %s does not answer: %w", r.addr, err)
	}
	r.version = "Redis " + info["redis_version"]
	if valkey := info["valkey_version"]; valkey != "" { // Valkey reports redis_version as well
		r.version = "Valkey " + valkey
	}
	return r, nil
}

// Addrs returns the one address.
func (r *Redis) Addrs() []string { return []string{r.addr} }

// Info says which server it is.
func (r *Redis) Info() Info {
	config := "given"
	if r.started != nil {
		config = "started for the benchmark: loopback, no persistence"
	}
	return Info{OneRedis, r.version, config}
}

// Close ends the server if the benchmark has started it.
func (r *Redis) Close() error {
	err := r.client.Close()
	if r.started != nil {
		err = r.started.Close()
	}
	return err
}

// Load reads the counters of the server. Reading them costs one command.
func (r *Redis) Load(ctx context.Context) (Load, error) {
	info, err := r.info(ctx, "cpu", "commandstats", "memory")
	if err != nil {
		return Load{}, err
	}
	var l Load
	for field, value := range info {
		switch {
		case strings.HasPrefix(field, "cmdstat_"):
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			n, err := strconv.ParseInt(calls, 10, 64)
			if err != nil {
				return Load{}, fmt.Errorf("INFO says %s:%s: %w", field, value, err)
			}
			l.Commands += float64(n)
		case field == "used_memory":
			if l.Memory, err = strconv.ParseInt(value, 10, 64); err != nil {
				return Load{}, fmt.Errorf("INFO says %s:%s: %w", field, value, err)
			}
		case field == "used_cpu_user", field == "used_cpu_sys":
			s, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return Load{}, fmt.Errorf("INFO says %s:%s: %w", field, value, err)
			}
			l.CPU += time.Duration(s * float64(time.Second))
		}
	}
	return l, nil
}

// RemoveKeys deletes all keys that have mark in their names.
func (r *Redis) RemoveKeys(ctx context.Context, mark string) error {
	var cursor uint64
	for {
		keys, next, err := r.client.Scan(ctx, cursor, "*"+mark+"*", 10_000).Result()
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			if err := r.client.Unlink(ctx, keys...).Err(); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		cursor = next
	}
}

func (r *Redis) info(ctx context.Context, sections ...string) (map[string]string, error) {
	text, err := r.client.Info(ctx, sections...).Result()
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if field, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[field] = value
		}
	}
	return fields, nil
}
