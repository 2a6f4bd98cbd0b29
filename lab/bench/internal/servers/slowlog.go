package servers

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// slowFrom is the duration from which on a command is written to the server's slow log. Shorter
// commands count as this long.
const slowFrom = 500 * time.Microsecond

// Longest returns the duration of the longest command that the server ran for any client during f,
// according to its slow log: without time on the network, but with time for which the processor ran
// something else.
func (r *Redis) Longest(ctx context.Context, f func() error) (_ time.Duration, err error) {
	restore, err := r.configure(ctx, map[string]string{
		"slowlog-log-slower-than": fmt.Sprint(slowFrom.Microseconds()),
		"slowlog-max-len":         "10000",
	})
	defer func() { err = errors.Join(err, restore()) }()
	if err != nil {
		return 0, err
	}
	if err := r.client.Do(ctx, "SLOWLOG", "RESET").Err(); err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	slow, err := r.client.SlowLogGet(ctx, -1).Result()
	longest := slowFrom
	for _, s := range slow {
		longest = max(longest, s.Duration)
	}
	return longest, err
}

// configure changes settings of the server, and returns a function that restores them.
func (r *Redis) configure(ctx context.Context, to map[string]string) (restore func() error, err error) {
	before := map[string]string{}
	restore = func() error {
		var errs []error
		for name, value := range before {
			errs = append(errs, r.client.ConfigSet(context.WithoutCancel(ctx), name, value).Err())
		}
		return errors.Join(errs...)
	}
	for name, value := range to {
		was, err := r.client.ConfigGet(ctx, name).Result()
		if err != nil {
			return restore, err
		}
		before[name] = was[name]
		if err := r.client.ConfigSet(ctx, name, value).Err(); err != nil {
			return restore, err
		}
	}
	return restore, nil
}
