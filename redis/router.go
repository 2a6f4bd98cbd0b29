package redis

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// How the server of a name is found, from the outside in:
//
//	serverFor (run_script.go)     for each script, unless the engine is closed
//	router.server                 the server that is known, if it may be trusted without asking
//	verifyServer, findServer      ask whether that server is still the same, or which one it is now
//	awaitInquiry, joinInquiry     all callers with the same question wait for one inquiry (inquiry.go)
//	runInquiry, identifyServer    INFO, SCRIPT LOAD, rights and marker, on one connection (identify_server.go)
//	addServer, noteVerified       remember the server, its route, and what its marker said

// router knows which server has which slot. It learns it by asking. The scripts contain the identity of the server for
// which they are made, so a server that is mistaken for another answers NOSCRIPT.
type router struct {
	client redis.UniversalClient
	config *config
	start  driver.Instant

	// readOnly says that the router only runs scripts that read, which need no right to write.
	readOnly    bool
	readCommand string // the command that runs scripts

	// routes has the server of each slot of a Cluster, or the only server. It is nil until the first server has said
	// what it is.
	routes atomic.Pointer[[]atomic.Pointer[server]]

	// markers has the last reading of the marker of each slot of a Cluster. It is made along with the routes.
	markers atomic.Pointer[[]atomic.Pointer[markerState]]

	slotMapReloads slotMapReloads

	mu          sync.Mutex
	servers     map[string]*server
	serverCount uint32 // how many servers have been used
	inquiries   map[inquiryKey]*inquiry
}

// server is one life of a Redis process as a master: it begins when the process is started or promoted.
type server struct {
	identity        string
	scripts         *scriptSet
	cannotPublish   bool   // the user may not publish messages there
	readsMayPublish bool   // reads may publish messages; known in the read router only
	number          uint32 // in the order in which servers were first used, from 1

	// marker is the last reading of the server's marker. In a Cluster each slot has a marker of its own.
	marker atomic.Pointer[markerState]

	// verifiedAt is when the server last had this identity, in nanoseconds of the engine's life.
	verifiedAt atomic.Int64

	// listHash is the hash in the marker that says with which servers it is used, as of verifiedAt. See Among.
	listHash atomic.Pointer[string]
}

// serverTrustedFor is for how long a server is trusted to be what it was, without asking it again. A process that stops
// being the master and becomes it again keeps its scripts, so only asking tells. Two failovers take longer than this.
const serverTrustedFor = time.Second

// ListTrustedFor is how long an engine relies on what a server last said of the list to which it belongs. See
// [Engine.Among].
const ListTrustedFor = serverTrustedFor

func (rt *router) init(client redis.UniversalClient, c *config) {
	rt.client, rt.config, rt.start = client, c, driver.Now()
	rt.servers, rt.inquiries = map[string]*server{}, map[inquiryKey]*inquiry{}
	rt.readCommand = evalsha
}

// isCluster reports whether the servers are known to be a Cluster.
func (rt *router) isCluster() bool {
	routes := rt.routes.Load()
	return routes != nil && len(*routes) > 1
}

// isSingle reports whether one server is known to have all names.
func (rt *router) isSingle() bool {
	routes := rt.routes.Load()
	return routes != nil && len(*routes) == 1
}

// askIsCluster reports whether the servers are a Cluster, and asks if no server has been asked yet.
func (rt *router) askIsCluster(ctx context.Context, n redisKeys) (bool, error) {
	_, err := rt.server(ctx, n, false)
	return rt.isCluster(), err
}

// slotOf returns the slot of names in a Cluster, and 0 elsewhere.
func (rt *router) slotOf(n redisKeys) uint16 {
	if !rt.isCluster() {
		return 0
	}
	return n.slot()
}

// cachedServer returns the server that is assumed to have names, or nil. Neighbouring slots are mostly on the same
// server. A wrong guess is answered with NOSCRIPT.
func (rt *router) cachedServer(n redisKeys) *server {
	routes := rt.routes.Load()
	if routes == nil {
		return nil
	}
	if len(*routes) == 1 {
		return (*routes)[0].Load()
	}
	slot := int(n.slot())
	route := &(*routes)[slot]
	if s := route.Load(); s != nil {
		return s
	}
	for _, step := range []int{-1, 1} {
		for i := slot + step; i >= 0 && i < len(*routes); i += step {
			if s := (*routes)[i].Load(); s != nil {
				route.CompareAndSwap(nil, s)
				return s
			}
		}
	}
	return nil
}

// setRouteLocked records which server has names. A server to which no route leads any more is dropped: mostly it has
// been replaced. If it comes back, it is initialized again.
func (rt *router) setRouteLocked(n redisKeys, s *server) {
	routes := *rt.routes.Load()
	before := routes[rt.slotOf(n)].Swap(s)
	if before == nil || before == s || rt.servers[before.identity] != before {
		return
	}
	for i := range routes {
		if routes[i].Load() == before {
			return
		}
	}
	delete(rt.servers, before.identity)
}

// server returns the server that has names. With mayGrant, its identity was verified recently enough to grant a lease.
func (rt *router) server(ctx context.Context, n redisKeys, mayGrant bool) (*server, error) {
	switch s := rt.cachedServer(n); {
	case s == nil:
		return rt.findServer(ctx, n, nil)
	case mayGrant && rt.config.guard &&
		(rt.elapsed()-time.Duration(s.verifiedAt.Load()) >= serverTrustedFor || rt.isListUnknown(s)):
		return rt.verifyServer(ctx, n, s)
	default:
		return s, nil
	}
}

// verifyServer asks a server whether it is still what it was. All slots that it is assumed to have share one inquiry,
// which finds the server by the key of one slot. If that leads to another server or fails, the result says nothing
// about the other slots, and their callers ask for themselves.
func (rt *router) verifyServer(ctx context.Context, n redisKeys, s *server) (*server, error) {
	q, err := rt.awaitInquiry(ctx, n, inquiryKey{server: s}, nil)
	switch {
	case err != nil:
		return nil, err
	case q.server == s || q.slot == rt.slotOf(n):
		return q.server, q.err
	}
	return rt.findServer(ctx, n, nil)
}

// findServer asks the server of a slot what it is, and makes sure that it has the scripts. lacked is the server whose
// scripts were unknown where they were sent: it has lost them, or it is not the server that answered.
func (rt *router) findServer(ctx context.Context, n redisKeys, lacked *server) (*server, error) {
	q, err := rt.awaitInquiry(ctx, n, inquiryKey{slot: rt.slotOf(n)}, lacked)
	if err != nil {
		return nil, err
	}
	return q.server, q.err
}

// elapsed returns the age of the engine, on a clock that counts sleep.
func (rt *router) elapsed() time.Duration { return driver.Now().Since(rt.start) }

// onOneConnection calls f with a connection to the server of a key. All commands of f go over that connection.
func (rt *router) onOneConnection(ctx context.Context, key string, f func(tx *redis.Tx) error) error {
	called := false
	err := rt.client.Watch(ctx, func(tx *redis.Tx) error {
		called = true
		return f(tx)
	}, key)
	if err == nil && !called { // the client followed redirections until it gave up, which is no error to it
		return errMoving
	}
	return err
}

func (rt *router) knownServer(identity string) *server {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.servers[identity]
}

// addServer records that a server has names. Another inquiry may have added it meanwhile: the first one counts.
func (rt *router) addServer(info serverInfo, n redisKeys, s *server) *server {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if known := rt.servers[s.identity]; known != nil {
		s = known
	}
	if s.number == 0 {
		rt.serverCount++
		s.number = rt.serverCount
	}
	rt.servers[s.identity] = s
	if rt.routes.Load() == nil {
		count := 1
		if info.isCluster() {
			count = slots
			markers := make([]atomic.Pointer[markerState], slots)
			rt.markers.Store(&markers)
		}
		routes := make([]atomic.Pointer[server], count)
		rt.routes.Store(&routes)
	}
	rt.setRouteLocked(n, s)
	return s
}

// Route implements [driver.Router]: the masters of a Cluster are numbered from 1, in the order in which this engine
// first used them. The number of an unknown server is 0.
func (e *Engine) Route(k driver.Key) uint32 {
	if !e.router.isCluster() {
		return 0
	}
	if srv := e.router.cachedServer(e.names(k)); srv != nil {
		return srv.number
	}
	return 0
}
