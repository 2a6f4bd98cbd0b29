package interrupt

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"
)

// Interrupter interrupts the requests of one client. It is safe for concurrent use.
type Interrupter struct {
	// ahead is how long a request may take. With a later deadline, the client would use its own timeout instead, and
	// the connection would not know the request.
	ahead time.Duration
	// foreign says that the client may use connections that are not ours: it had some before the first engine.
	foreign atomic.Bool

	byZone sync.Map // *time.Location to *request

	mu   sync.Mutex
	free []*request
}

// staleClock is by how much the client's clock, which it reads only now and then, may be behind.
const staleClock = 100 * time.Millisecond

// known has the Interrupter of each client, so that a client gets one hook, however many engines use it.
var known sync.Map // weak.Pointer[redis.Client] to *Interrupter

// Of returns the Interrupter of a client, or nil if its requests cannot be interrupted: it does not observe deadlines,
// or has timeouts of its own that are too short, or none.
func Of(client *redis.Client) *Interrupter {
	o := client.Options()
	i := &Interrupter{ahead: min(o.ReadTimeout, o.WriteTimeout) - staleClock}
	if !o.ContextTimeoutEnabled || i.ahead < staleClock {
		return nil
	}
	key := weak.Make(client)
	if before, loaded := known.LoadOrStore(key, i); loaded {
		return before.(*Interrupter)
	}
	runtime.AddCleanup(client, func(key weak.Pointer[redis.Client]) { known.Delete(key) }, key)
	client.AddHook(hook{i})
	// After the hook was added, as connections may be made at any time.
	if client.PoolStats().TotalConns > 0 {
		i.foreign.Store(true)
	}
	return i
}

// find returns the request to which a deadline belongs, or nil.
func (i *Interrupter) find(deadline time.Time) *request {
	if r, ok := i.byZone.Load(deadline.Location()); ok {
		return r.(*request)
	}
	return nil
}

// hook makes the connections of a client.
type hook struct{ interrupter *Interrupter }

// DialHook implements [redis.Hook].
func (h hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return newConn(c, h.interrupter), nil
	}
}

// ProcessHook implements [redis.Hook]. It notices if the client uses another connection after all.
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil {
			if deadline, ok := ctx.Deadline(); ok {
				if r := h.interrupter.find(deadline); r != nil && r.conn.Load() == nil {
					h.interrupter.foreign.Store(true)
				}
			}
		}
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
