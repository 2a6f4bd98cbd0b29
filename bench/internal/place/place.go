// Package place is where the benchmark runs: a Redis server, started for it or given.
package place

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// Place is one server.
type Place struct {
	// Addr is its host:port.
	Addr string
	// Version and Config are for the report.
	Version, Config string

	own    *redisserver.Server // nil if it was given
	client *goredis.Client
}

// Open starts a server, or, if addr is not empty, uses the one that is there.
func Open(ctx context.Context, addr string) (*Place, error) {
	p := &Place{Addr: addr}
	if addr == "" {
		s, err := redisserver.Start(redisserver.Config{})
		if err != nil {
			return nil, err
		}
		p.own, p.Addr = s, s.Addr()
	}
	p.client = goredis.NewClient(&goredis.Options{Addr: p.Addr})
	info, err := p.info(ctx, "server")
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("the Redis at %s does not answer: %w", p.Addr, err)
	}
	p.Version = info["redis_version"]
	p.Config = "given"
	if p.own != nil {
		p.Config = "started for the benchmark: loopback, no persistence"
	}
	return p, nil
}

// Close ends the server if the benchmark has started it.
func (p *Place) Close() error {
	err := p.client.Close()
	if p.own != nil {
		err = p.own.Close()
	}
	return err
}

// Load is what the server has done since it started.
type Load struct {
	// Commands counts all commands, those that scripts call among them.
	Commands int64
	// CPU is the processor time of the whole process.
	CPU time.Duration
}

// Load reads the counters of the server. Reading them costs one command.
func (p *Place) Load(ctx context.Context) (Load, error) {
	info, err := p.info(ctx, "cpu", "commandstats")
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
			l.Commands += n
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

// Sweep deletes all keys that have mark in their names.
func (p *Place) Sweep(ctx context.Context, mark string) error {
	var cursor uint64
	for {
		keys, next, err := p.client.Scan(ctx, cursor, "*"+mark+"*", 10_000).Result()
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			if err := p.client.Unlink(ctx, keys...).Err(); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		cursor = next
	}
}

func (p *Place) info(ctx context.Context, sections ...string) (map[string]string, error) {
	text, err := p.client.Info(ctx, sections...).Result()
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
