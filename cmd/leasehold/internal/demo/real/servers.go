// Package real runs cases on Redis servers of its own, in real time. Clients with leasehold use the library, with its
// engines redis and redlock. Those without send commands with go-redis.
//
// Faults are real as far as that is possible without root. Servers are killed and started again, and a replica is
// promoted. A stopped client is one whose program does not go on and whose connections pass nothing on, in either
// direction; its process has other clients to run. A clock that jumps is made by its effect: the lock expires on that
// server.
package real

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/leasehold-go/leasehold/internal/redisserver"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// ErrMissing means that there is no redis-server on this machine.
var ErrMissing = redisserver.ErrMissing

// Servers are the servers that runs share. They are safe for concurrent use.
type Servers struct{ servers []*redisserver.Server }

// serverCount is how many servers there are.
const serverCount = 5

// Open starts the servers. Close ends them. The error is ErrMissing if there is no redis-server.
func Open() (*Servers, error) {
	logging.Disable() // the log of go-redis says nothing that errors do not say
	h := &Servers{servers: make([]*redisserver.Server, serverCount)}
	errs := make([]error, serverCount)
	var all sync.WaitGroup
	for i := range serverCount {
		all.Go(func() { h.servers[i], errs[i] = redisserver.Start(redisserver.Config{}) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		if errors.Is(err, ErrMissing) {
			err = errs[0] // they are all the same
		}
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Close ends the servers and removes their files.
func (h *Servers) Close() error {
	var errs []error
	for _, s := range h.servers {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// ttl is how long leases last: short, but long enough for a busy machine.
const ttl = 1500 * time.Millisecond

// Run runs what begin starts, in an environment of its own, and returns its timeline. name is that of the lock and of
// the counter. No two concurrent runs may have the same name.
func (h *Servers) Run(
	ctx context.Context, s scenario.Setup, name string, begin func(scenario.Environment),
) (timeline.Timeline, error) {
	e, err := h.newEnvironment(ctx, s, name)
	if err == nil {
		err = e.run(begin)
	}
	if closed := e.close(); err == nil {
		err = closed
	}
	if ended := ctx.Err(); ended != nil {
		err = ended // it is the cause of any other error
	}
	if err != nil {
		return timeline.Timeline{}, fmt.Errorf("playing %s on real servers: %w", name, err)
	}
	return e.recorder.Finish(ttl), nil
}
