// Package real plays cases on Redis servers of its own, in real time. Clients with leasehold are real ones: the library, and its engines
// redis and redlock. Those without send commands with go-redis.
//
// What goes wrong is real as far as that can be done without root. Servers are killed and started anew, and a replica is promoted. A client
// that stands still is one whose program does not go on and whose connections pass nothing on, in either direction; its process has other
// clients to run. A clock that jumps is made by what it does: the lock runs out on that server.
package real

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/leasehold-go/leasehold/internal/redisserver"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// ErrMissing means that there is no redis-server on this machine.
var ErrMissing = redisserver.ErrMissing

// House is the servers that plays share. Many goroutines may use it.
type House struct{ servers []*redisserver.Server }

// five is how many servers there are.
const five = 5

// Open starts five servers. Close ends them. If Redis is missing, the error is ErrMissing.
func Open() (*House, error) {
	logging.Disable() // the client's own log has nothing that errors do not say
	h := &House{servers: make([]*redisserver.Server, five)}
	errs := make([]error, five)
	var all sync.WaitGroup
	for i := range five {
		all.Go(func() { h.servers[i], errs[i] = redisserver.Start(redisserver.Config{}) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		if errors.Is(err, ErrMissing) {
			err = errs[0] // they all say the same
		}
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Close ends the servers and removes what they have left behind.
func (h *House) Close() error {
	var errs []error
	for _, s := range h.servers {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// ttl is how long leases last: short, and long enough for a machine that has other things to do.
const ttl = 1500 * time.Millisecond

// Play plays what begin begins in a world of its own, and returns what was recorded. The name is that of the lock and of the counter: no two plays
// at the same time may have the same.
func (h *House) Play(ctx context.Context, s stage.Setup, name string, begin func(stage.World)) (tape.Recording, error) {
	w, err := h.world(ctx, s, name)
	if err == nil {
		err = w.play(begin)
	}
	if closed := w.close(); err == nil {
		err = closed
	}
	if ended := ctx.Err(); ended != nil {
		err = ended // whatever else went wrong by it
	}
	if err != nil {
		return tape.Recording{}, fmt.Errorf("playing %s on real servers: %w", name, err)
	}
	return w.tape.Stop(ttl), nil
}
