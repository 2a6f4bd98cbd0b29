package redis

import (
	"context"
	"crypto/rand"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// desk stands in for a server, so that tests in virtual time decide what happens to each script, and when. Like a client
// without timeouts it does not care about contexts.
type desk struct {
	t      *testing.T
	e      *Engine
	client *redis.Client
	answer func(*shipment) (any, error)

	mu    sync.Mutex
	calls []*shipment
	under int // how many are under way
	most  int // how many were at the same time
}

// shipment is a script that was sent.
type shipment struct {
	script script
	args   []any // what stands behind the hash: the number of keys, keys, and arguments
	cmd    *redis.Cmd
}

// errands is how many the script does.
func (c *shipment) errands() int {
	if c.script != together {
		return 1
	}
	keys := c.args[0].(int)
	releases := c.args[1+keys].(int)
	return releases + (keys-releases)/2
}

// newDesk opens an engine that takes the desk for a server which it knows already.
func newDesk(t *testing.T, answer func(*shipment) (any, error)) *desk {
	d := &desk{t: t, answer: answer, client: redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})}
	d.client.AddHook(d)
	e, err := New(d.client, WithoutFailoverGuard())
	if err != nil {
		t.Fatal(err)
	}
	d.e = e
	known := &server{identity: "desk", program: e.assemble("desk", false)}
	routes := make([]atomic.Pointer[server], 1)
	routes[0].Store(known)
	e.place.routes.Store(&routes)
	e.place.servers["desk"] = known
	return d
}

// close closes the engine and its client.
func (d *desk) close() {
	d.t.Helper()
	if err := d.e.Close(); err != nil {
		d.t.Error(err)
	}
	if err := d.client.Close(); err != nil {
		d.t.Error(err)
	}
}

// DialHook implements redis.Hook.
func (d *desk) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) {
		d.t.Error("something else than a script was sent")
		return nil, net.ErrClosed
	}
}

// ProcessPipelineHook implements redis.Hook.
func (d *desk) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook.
func (d *desk) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		sha := *cmd.Args()[1].(*string)
		program := d.e.place.known("desk").program
		c := &shipment{script: script(slices.Index(program.sha[:], sha)), args: slices.Clone(cmd.Args()[2:]), cmd: cmd.(once).Cmd}
		d.mu.Lock()
		d.calls = append(d.calls, c)
		d.under++
		d.most = max(d.most, d.under)
		d.mu.Unlock()
		value, err := d.answer(c)
		d.mu.Lock()
		d.under--
		d.mu.Unlock()
		if err == nil {
			cmd.(once).SetVal(value)
		}
		return err
	}
}

// sent is how many errands each script did, in the order in which they were sent.
func (d *desk) sent() (sizes []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		sizes = append(sizes, c.errands())
	}
	return sizes
}

// granted is the answer to a script of takes, and releases of what is held.
func granted(c *shipment) (any, error) {
	if c.script != together {
		return int64(1), nil
	}
	answers := make([]any, c.errands())
	for i := range answers {
		answers[i] = int64(1)
	}
	return answers, nil
}

// outcome is what done was called with, and when.
type outcome struct {
	err   error
	at    time.Time
	times atomic.Int32 // how often done was called
	done  chan struct{}
}

func newOutcome() *outcome { return &outcome{done: make(chan struct{})} }

func (o *outcome) set(err error) {
	if o.times.Add(1) == 1 {
		o.err, o.at = err, time.Now()
		close(o.done)
	}
}

// take starts a take that has until the end of a time.
func (d *desk) take(limit time.Duration) *outcome {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	o := newOutcome()
	d.e.StartTake(ctx, asking(), func(_ driver.Grant, err error) {
		cancel()
		o.set(err)
	})
	return o
}

// release starts a release that has until the end of a time.
func (d *desk) release(limit time.Duration) *outcome {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	o := newOutcome()
	r := asking()
	d.e.StartRelease(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}}, func(err error) {
		cancel()
		o.set(err)
	})
	return o
}

// asking asks for a lock by a new name.
func asking() driver.Request {
	return driver.Request{Key: driver.Key{Kind: driver.Lock, Name: rand.Text()}, Owner: rand.Text(), Size: 1, Weight: 1, TTL: time.Minute, Tokens: 1}
}
