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
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// batcherTest is an engine whose client answers scripts by a function instead of a server, so that tests in virtual
// time decide what happens to each script, and when. Like a client without timeouts, it ignores contexts.
type batcherTest struct {
	t      *testing.T
	e      *Engine
	client *redis.Client
	answer func(*sentScript) (any, error)

	mu          sync.Mutex
	calls       []*sentScript
	inFlight    int // scripts in flight
	maxInFlight int // the most that were in flight at a time
}

// sentScript is a script that the engine has sent.
type sentScript struct {
	script script
	args   []any // what follows the hash: the number of keys, keys, and arguments
	cmd    *redis.Cmd
}

// requests is the number of requests that the script has.
func (c *sentScript) requests() int {
	if c.script != scriptBatch {
		return 1
	}
	keys := c.args[0].(int)
	releases := c.args[1+keys].(int)
	return releases + (keys-releases)/2
}

// newBatcherTest opens an engine that takes the test for a server which it knows already.
func newBatcherTest(t *testing.T, answer func(*sentScript) (any, error)) *batcherTest {
	bt := &batcherTest{t: t, answer: answer, client: redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})}
	bt.client.AddHook(bt)
	e, err := New(bt.client, WithoutFailoverGuard())
	if err != nil {
		t.Fatal(err)
	}
	bt.e = e
	known := &server{identity: "test", scripts: e.newScriptSet("test", false)}
	routes := make([]atomic.Pointer[server], 1)
	routes[0].Store(known)
	e.router.routes.Store(&routes)
	e.router.servers["test"] = known
	return bt
}

// close closes the engine and its client.
func (bt *batcherTest) close() {
	bt.t.Helper()
	if err := bt.e.Close(); err != nil {
		bt.t.Error(err)
	}
	if err := bt.client.Close(); err != nil {
		bt.t.Error(err)
	}
}

// DialHook implements redis.Hook.
func (bt *batcherTest) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) {
		bt.t.Error("something other than a script was sent")
		return nil, net.ErrClosed
	}
}

// ProcessPipelineHook implements redis.Hook.
func (bt *batcherTest) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	process := bt.ProcessHook(nil)
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			cmd.SetErr(process(ctx, cmd))
		}
		return nil
	}
}

// ProcessHook implements redis.Hook.
func (bt *batcherTest) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		sha := *cmd.Args()[1].(*string)
		program := bt.e.router.knownServer("test").scripts
		c := &sentScript{script: script(slices.Index(program.sha[:], sha)), args: slices.Clone(cmd.Args()[2:]),
			cmd: cmd.(luascript.SingleCommand).Cmd}
		bt.mu.Lock()
		bt.calls = append(bt.calls, c)
		bt.inFlight++
		bt.maxInFlight = max(bt.maxInFlight, bt.inFlight)
		bt.mu.Unlock()
		value, err := bt.answer(c)
		bt.mu.Lock()
		bt.inFlight--
		bt.mu.Unlock()
		if err == nil {
			cmd.(luascript.SingleCommand).SetVal(value)
		}
		return err
	}
}

// sent is the number of requests of each script, in the order in which they were sent.
func (bt *batcherTest) sent() (sizes []int) {
	bt.mu.Lock()
	defer bt.mu.Unlock()
	for _, c := range bt.calls {
		sizes = append(sizes, c.requests())
	}
	return sizes
}

// granted answers a script that takes what is free, or releases what is held.
func granted(c *sentScript) (any, error) {
	if c.script != scriptBatch {
		return int64(1), nil
	}
	answers := make([]any, c.requests())
	for i := range answers {
		answers[i] = int64(1)
	}
	return answers, nil
}

// outcome records how often, with what, and when done was called.
type outcome struct {
	err   error
	at    time.Time
	times atomic.Int32 // calls of done
	done  chan struct{}
}

func newOutcome() *outcome { return &outcome{done: make(chan struct{})} }

func (o *outcome) set(err error) {
	if o.times.Add(1) == 1 {
		o.err, o.at = err, time.Now()
		close(o.done)
	}
}

// take starts a take with a deadline.
func (bt *batcherTest) take(limit time.Duration) *outcome {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	o := newOutcome()
	bt.e.StartTake(ctx, quorumnode.Request{Request: newRequest()}, func(_ driver.Grant, err error) {
		cancel()
		o.set(err)
	})
	return o
}

// release starts a release with a deadline.
func (bt *batcherTest) release(limit time.Duration) *outcome {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	o := newOutcome()
	r := newRequest()
	bt.e.StartRelease(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}}, func(err error) {
		cancel()
		o.set(err)
	})
	return o
}

// newRequest asks for a lock by a new name.
func newRequest() driver.Request {
	return driver.Request{Key: driver.Key{Kind: driver.Lock, Name: rand.Text()}, Owner: rand.Text(), Size: 1, Weight: 1,
		TTL: time.Minute, Tokens: 1}
}
