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

// Engine keeps locks in an etcd cluster. It is safe for concurrent use. Any number of engines, in any number of processes, may use one cluster.
type Engine struct {
	keys
	client  *clientv3.Client
	kv      pb.KVClient
	leases  pb.LeaseClient
	watches clientv3.Watcher
	limit   time.Duration                           // for a request
	wires   *wires                                  // of the client, if it is the engine's own
	weak    func(address string) *exposure.Weakness // of its connections, the same

	members  members
	sessions sessions
	looks    looks

	life       context.Context // ends with Close
	end        context.CancelFunc
	background sync.WaitGroup
	shut       func() error // closes the client, if it is the engine's own
	closing    func() error
}

var (
	_ driver.Engine     = (*Engine)(nil)
	_ driver.Downgrader = (*Engine)(nil)
	_ driver.Forcer     = (*Engine)(nil)
	_ driver.AllTaker   = (*Engine)(nil)
)

// requestLimit is how long a request may take that has no earlier deadline.
const requestLimit = 5 * time.Second

// maxTTL is the longest lease, so that sessions stay within what a server gives.
const maxTTL = 365 * 24 * time.Hour

// New makes an engine that works with a client. The client stays the caller's: close it after the engine. Nothing is sent yet. An option that is not
// allowed is an [*OptionError].
//
// The engine works on the connection of the client: a namespace that is put around its parts is not heeded, see [WithPrefix]. Interceptors on it must
// pass on the options of a call, by which the engine learns whether a request was sent at all, and must not repeat transactions.
//
// Give the client DialKeepAliveTime and DialKeepAliveTimeout, of 10 s and 3 s, say, so that it leaves a member that hangs.
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

// assemble makes an engine of what it speaks to a cluster with.
func assemble(c config, kv pb.KVClient, leases pb.LeaseClient, watches clientv3.Watcher) *Engine {
	e := &Engine{keys: keys(c), kv: kv, leases: leases, watches: watches, limit: requestLimit, shut: func() error { return nil }}
	e.life, e.end = context.WithCancel(context.Background())
	e.members.init(e)
	e.sessions.init(e)
	e.closing = sync.OnceValue(e.finish)
	return e
}

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	return driver.Abilities{
		Name:       "etcd",
		Shared:     true,
		Semaphores: true,
		Force:      true,
		All:        true,
		Examine:    true,
		Waiters:    true,
		Fair:       true,
		Prompt:     true,
		MaxTTL:     maxTTL,
	}
}

// Close ends all calls that wait, and closes the client if [Open] has made it. What is held stays held until its session ends, a few seconds after
// the lease: release it before. Calls after Close are refused. Close may be called many times.
func (e *Engine) Close() error { return e.closing() }

func (e *Engine) finish() error {
	e.sessions.close()
	e.end()
	e.members.close()
	e.background.Wait()
	_ = e.watches.Close() // it tells how they ended
	return e.shut()
}
