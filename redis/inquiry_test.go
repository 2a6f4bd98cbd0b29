package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// guardedEngine opens an engine with the guard on a Cluster whose servers are open.
func guardedEngine(t *testing.T, c *redisserver.Cluster) *Engine {
	t.Helper()
	for _, node := range c.Nodes {
		client := redis.NewClient(&redis.Options{Addr: node.Addr()})
		if err := Trust(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		_ = client.Close()
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	e, err := New(client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = e.Close(), client.Close() })
	return e
}

// namesOnNode returns names in this number of slots of a node, in a Cluster that was started with this number of
// masters.
func namesOnNode(e *Engine, node, masters, count int) (all []redisKeys) {
	for i := 0; len(all) < count; i++ {
		n := e.names(driver.Key{Kind: driver.Lock, Name: fmt.Sprint(i)})
		if int(n.slot())*masters/slots == node &&
			!slices.ContainsFunc(all, func(other redisKeys) bool { return other.slot() == n.slot() }) {
			all = append(all, n)
		}
	}
	return all
}

// findServers makes an engine find the servers of names.
func findServers(t *testing.T, e *Engine, all ...redisKeys) (servers []*server) {
	t.Helper()
	for _, n := range all {
		s, err := e.router.findServer(t.Context(), n, nil)
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, s)
	}
	return servers
}

// outdate makes the engine believe that it verified its servers long ago.
func (rt *router) outdate() {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for _, s := range rt.servers {
		s.verifiedAt.Store(int64(rt.elapsed() - time.Hour))
	}
}

// signalContext calls a function when its Done is first called.
type signalContext struct {
	context.Context
	once   sync.Once
	onDone func()
}

// Done implements context.Context.
func (c *signalContext) Done() <-chan struct{} {
	c.once.Do(c.onDone)
	return c.Context.Done()
}

// startLookups asks for the servers of names, all at the same time. It returns when all wait. The returned function
// waits until all are known.
func startLookups(t *testing.T, e *Engine, all ...redisKeys) (answers func() []*server) {
	t.Helper()
	found := make([]*server, len(all))
	var work, wait sync.WaitGroup
	wait.Add(len(all))
	for i, n := range all {
		work.Go(func() {
			var err error
			if found[i], err = e.router.server(&signalContext{Context: t.Context(), onDone: wait.Done}, n,
				true); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	return func() []*server { work.Wait(); return found }
}

func pause(t *testing.T, nodes ...*redisserver.Server) (resume func()) {
	t.Helper()
	for _, node := range nodes {
		if err := node.Pause(); err != nil {
			t.Fatal(err)
		}
	}
	resume = sync.OnceFunc(func() {
		for _, node := range nodes {
			if err := node.Resume(); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(resume)
	return resume
}

// infoCalls is how often a server was asked INFO since CONFIG RESETSTAT.
func infoCalls(t *testing.T, s *redisserver.Server) (n int) {
	t.Helper()
	is, err := s.Info("cmdstat_info")
	if err != nil {
		t.Fatal(err)
	}
	if is != "" {
		if _, err := fmt.Sscanf(strings.TrimPrefix(is, "calls="), "%d", &n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// However many slots a process uses, each server is verified once.
func TestAServerIsVerifiedOnceForAllItsSlots(t *testing.T) {
	t.Parallel()
	const masters, each = 3, 50
	c := redisserver.ClusterForTest(t, masters, 0, redisserver.Config{})
	e := guardedEngine(t, c)
	var all []redisKeys
	for node := range masters {
		all = append(all, namesOnNode(e, node, masters, each)...)
	}
	before := findServers(t, e, all...)
	for _, node := range c.Nodes {
		command(t, node, "CONFIG", "RESETSTAT")
	}
	e.router.outdate()
	resume := pause(t, c.Nodes...)
	answers := startLookups(t, e, all...)
	resume()
	if after := answers(); !slices.Equal(after, before) {
		t.Error("the servers are not the ones that they were")
	}
	for i, node := range c.Nodes {
		// An inquiry that has no answer after a second is repeated.
		if n := infoCalls(t, node); n == 0 || n > 4 {
			t.Errorf("server %d was asked %d times for %d slots, want once", i, n, each)
		}
	}
	for _, s := range before {
		if e.router.elapsed()-time.Duration(s.verifiedAt.Load()) > time.Minute {
			t.Error("a server is not verified")
		}
	}
	e.router.mu.Lock()
	defer e.router.mu.Unlock()
	if n := len(e.router.inquiries); n > 0 {
		t.Errorf("%d inquiries are still in flight", n)
	}
}

// An inquiry that is routed by the key of a moved slot says nothing about other slots.
func TestMovedSlotSaysNothingAboutOthers(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 2, 0, redisserver.Config{})
	e := guardedEngine(t, c)
	mine := namesOnNode(e, 0, 2, 2)
	moved, stays, theirs := mine[0], mine[1], namesOnNode(e, 1, 2, 1)[0]
	known := findServers(t, e, moved, stays, theirs)
	m, err := c.StartMigration(int(moved.slot()), c.Nodes[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Finish(); err != nil {
		t.Fatal(err)
	}
	e.router.outdate()
	resume := pause(t, c.Nodes[1])
	first := startLookups(t, e, moved)
	other := startLookups(t, e, stays)
	resume()
	if s := other()[0]; s != known[1] {
		t.Error("the engine believes that the slot that stays was moved")
	}
	if s := first()[0]; s != known[2] {
		t.Error("the engine does not know where the moved slot is")
	}
}

// A server is known until no slot leads to it any more.
func TestReplacedServersAreForgotten(t *testing.T) {
	t.Parallel()
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		c := redisserver.ClusterForTest(t, 2, 0, redisserver.Config{})
		e := guardedEngine(t, c)
		mine := namesOnNode(e, 0, 2, 2)
		old := findServers(t, e, mine...)[0]
		for i, want := range []int{2, 1} {
			m, err := c.StartMigration(int(mine[i].slot()), c.Nodes[1])
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Finish(); err != nil {
				t.Fatal(err)
			}
			if s := findServers(t, e, mine[i])[0]; s == old {
				t.Fatal("the slot has not been moved")
			}
			if n := len(e.router.servers); n != want {
				t.Errorf("%d servers are known, want %d", n, want)
			}
		}
		if e.router.knownServer(old.identity) != nil {
			t.Error("the server that keeps no slot any more is known")
		}
		back, err := c.StartMigration(int(mine[0].slot()), c.Nodes[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := back.Finish(); err != nil {
			t.Fatal(err)
		}
		if s := findServers(t, e, mine[0])[0]; s.identity != old.identity {
			t.Errorf("the server that has a slot again is %s, and was %s", s.identity, old.identity)
		}
	})
	t.Run("Restarts", func(t *testing.T) {
		t.Parallel()
		s := redisserver.ForTest(t, redisserver.Config{})
		client := redis.NewClient(&redis.Options{Addr: s.Addr()})
		e, err := New(client, WithoutFailoverGuard())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = e.Close(), client.Close() })
		n := e.names(driver.Key{Kind: driver.Lock, Name: "a"})
		identities := map[string]bool{}
		for range 4 {
			identities[findServers(t, e, n)[0].identity] = true
			s.Kill()
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
		}
		if len(identities) != 4 || len(e.router.servers) != 1 {
			t.Errorf("%d servers were found, and %d are known, want 4 and 1", len(identities), len(e.router.servers))
		}
	})
}

// Engines' requests for different slots of a server that is not known yet find one and the same server.
func TestAServerIsKnownOnce(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 1, 0, redisserver.Config{})
	e := guardedEngine(t, c)
	all := namesOnNode(e, 0, 1, 20)
	resume := pause(t, c.Nodes[0])
	var work sync.WaitGroup
	var wait atomic.Int32
	found := make([]*server, len(all))
	for i, n := range all {
		work.Go(func() {
			wait.Add(1)
			var err error
			if found[i], err = e.router.identifyServer(t.Context(), n, nil); err != nil {
				t.Error(err)
			}
		})
	}
	for wait.Load() < int32(len(all)) {
		time.Sleep(time.Millisecond)
	}
	resume()
	work.Wait()
	for _, s := range found {
		if s == nil || s != found[0] || s != e.router.knownServer(s.identity) {
			t.Fatal("one server is known as several")
		}
	}
}
