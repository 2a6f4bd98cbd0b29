package etcd

import (
	"context"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// Engine keeps locks in an etcd cluster. It is safe for concurrent use. Any number of engines, in any number of
// processes, may use one cluster.
type Engine struct {
	unsupported
	keys
	client         *clientv3.Client
	kv             pb.KVClient
	leaseClient    pb.LeaseClient
	watcher        clientv3.Watcher
	requestTimeout time.Duration                           // the longest that one request may take
	connections    *connections                            // of the engine's own client; nil otherwise
	findWeakness   func(address string) *exposure.Weakness // of these connections; nil otherwise
	login          *login                                  // of that client; nil without a user
	secretFiles    []string                                // that this client has read

	ownedKeys    ownedKeys
	sessions     sessions
	orphanChecks orphanChecks

	removalWatches removalWatches

	ctx         context.Context // done after Close
	cancel      context.CancelFunc
	background  sync.WaitGroup
	closeClient func() error // closes the engine's own client
	closeOnce   func() error
}

// unsupported answers calls of what this engine cannot do.
type unsupported = driver.Unsupported

var (
	_ driver.Engine     = (*Engine)(nil)
	_ driver.Operator   = (*Engine)(nil)
	_ driver.AllTaker   = (*Engine)(nil)
	_ driver.DataKeeper = (*Engine)(nil)
)

// defaultRequestTimeout limits requests without an earlier deadline.
const defaultRequestTimeout = 5 * time.Second

// maxTTL is the longest lease. It keeps sessions within what servers grant.
const maxTTL = 365 * 24 * time.Hour

// New makes an engine that works with client. The client stays the caller's: close it after the engine. New sends
// nothing. The error is an [*OptionError] if an option is not allowed.
//
// The engine works on the connection of the client. It ignores a namespace that wraps the client's parts; see
// [WithPrefix]. Interceptors on the connection must pass on the options of a call, by which the engine learns whether a
// request was sent at all, and must not repeat transactions.
//
// Set the client's DialKeepAliveTime and DialKeepAliveTimeout, to 10 s and 3 s for example, so that it leaves a member
// that hangs.
func New(client *clientv3.Client, opts ...Option) (*Engine, error) {
	if client == nil {
		return nil, errNoClient
	}
	c := config{prefix: DefaultPrefix}
	for _, o := range opts {
		if err := o(&c); err != nil {
			return nil, err
		}
	}
	conn := client.ActiveConnection()
	e := assemble(c, pb.NewKVClient(conn), pb.NewLeaseClient(conn), clientv3.NewWatcher(client))
	e.client = client
	return e, nil
}

// assemble makes an engine from the clients of a cluster.
func assemble(c config, kv pb.KVClient, leases pb.LeaseClient, watcher clientv3.Watcher) *Engine {
	e := &Engine{
		keys: keys(c), kv: kv, leaseClient: leases, watcher: watcher, requestTimeout: defaultRequestTimeout,
		closeClient: func() error { return nil },
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.ownedKeys.init(e)
	e.sessions.init(e)
	e.removalWatches.init(e)
	e.closeOnce = sync.OnceValue(e.closeAll)
	return e
}

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	return driver.Abilities{
		Name:       "etcd",
		Shared:     true,
		Semaphores: true,
		Waiters:    true,
		Fair:       true,
		MaxTTL:     maxTTL,
	}
}

// Close ends all waiting calls, and closes the client if [Open] has made it. Locks stay held until their sessions end,
// a few seconds after the leases, so release them before. Calls after Close fail. Close may be called many times.
func (e *Engine) Close() error { return e.closeOnce() }

func (e *Engine) closeAll() error {
	e.sessions.close()
	e.removalWatches.beginClose()
	e.cancel()
	e.ownedKeys.close()
	e.removalWatches.unused.Close()
	e.background.Wait()
	_ = e.watcher.Close() // the error only says how the watches ended
	return e.closeClient()
}
