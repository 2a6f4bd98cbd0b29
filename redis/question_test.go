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

// guardedEngine opens an engine with the guard on a Cluster that has granted for long.
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

// onNode returns the names of so many slots that a node keeps in a Cluster that was started with so many masters.
func onNode(e *Engine, node, masters, count int) (all []names) {
	for i := 0; len(all) < count; i++ {
		n := e.names(driver.Key{Kind: driver.Lock, Name: fmt.Sprint(i)})
		if int(n.slot())*masters/slots == node && !slices.ContainsFunc(all, func(other names) bool { return other.slot() == n.slot() }) {
			all = append(all, n)
		}
	}
	return all
}

// meetAll makes an engine know the servers of names.
func meetAll(t *testing.T, e *Engine, all ...names) (servers []*server) {
	t.Helper()
	for _, n := range all {
		s, err := e.place.learn(t.Context(), n, nil)
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, s)
	}
	return servers
}

// outdate makes the engine think that it has seen its servers long ago.
func (p *place) outdate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		s.verified.Store(int64(p.age() - time.Hour))
	}
}

// waiting is a context that says when it is first waited for.
type waiting struct {
	context.Context
	once sync.Once
	on   func()
}

// Done implements context.Context.
func (w *waiting) Done() <-chan struct{} {
	w.once.Do(w.on)
	return w.Context.Done()
}

// asks asks for the servers of names, all at the same time, and returns a function that returns them when all are known. It returns when all wait.
func asks(t *testing.T, e *Engine, all ...names) (answers func() []*server) {
	t.Helper()
	found := make([]*server, len(all))
	var work, wait sync.WaitGroup
	wait.Add(len(all))
	for i, n := range all {
		work.Go(func() {
			var err error
			if found[i], err = e.place.server(&waiting{Context: t.Context(), on: wait.Done}, n, true); err != nil {
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

// infos is how often a server has been asked INFO since CONFIG RESETSTAT.
func infos(t *testing.T, s *redisserver.Server) (n int) {
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

// However many slots a process uses, each server is asked once whether it still is what it was.
func TestAServerIsVerifiedOnceForAllItsSlots(t *testing.T) {
	t.Parallel()
	const masters, each = 3, 50
	c := redisserver.ClusterForTest(t, masters, 0, redisserver.Config{})
	e := guardedEngine(t, c)
	var all []names
	for node := range masters {
		all = append(all, onNode(e, node, masters, each)...)
	}
	before := meetAll(t, e, all...)
	for _, node := range c.Nodes {
		command(t, node, "CONFIG", "RESETSTAT")
	}
	e.place.outdate()
	resume := pause(t, c.Nodes...)
	answers := asks(t, e, all...)
	resume()
	if after := answers(); !slices.Equal(after, before) {
		t.Error("the servers are not the ones that they were")
	}
	for i, node := range c.Nodes {
		// A question that has no answer after a second is asked again.
		if n := infos(t, node); n == 0 || n > 4 {
			t.Errorf("server %d was asked %d times for %d slots, want once", i, n, each)
		}
	}
	for _, s := range before {
		if e.place.age()-time.Duration(s.verified.Load()) > time.Minute {
			t.Error("a server is not verified")
		}
	}
	e.place.mu.Lock()
	defer e.place.mu.Unlock()
	if n := len(e.place.asking); n > 0 {
		t.Errorf("%d questions are still under way", n)
	}
}

// A question that finds its way by the key of a slot which has been moved says nothing about the others.
func TestAMovedSlotTellsNothingOfOthers(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 2, 0, redisserver.Config{})
	e := guardedEngine(t, c)
	mine := onNode(e, 0, 2, 2)
	moved, stays, theirs := mine[0], mine[1], onNode(e, 1, 2, 1)[0]
	known := meetAll(t, e, moved, stays, theirs)
	m, err := c.StartMigration(int(moved.slot()), c.Nodes[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Finish(); err != nil {
		t.Fatal(err)
	}
	e.place.outdate()
	resume := pause(t, c.Nodes[1])
	first := asks(t, e, moved)
	other := asks(t, e, stays)
	resume()
	if s := other()[0]; s != known[1] {
		t.Error("the slot that stays is thought to have been moved")
	}
	if s := first()[0]; s != known[2] {
		t.Error("the slot that was moved is not thought to be where it is")
	}
}

// A server is known until no slot leads to it any more.
func TestReplacedServersAreForgotten(t *testing.T) {
	t.Parallel()
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		c := redisserver.ClusterForTest(t, 2, 0, redisserver.Config{})
		e := guardedEngine(t, c)
		mine := onNode(e, 0, 2, 2)
		old := meetAll(t, e, mine...)[0]
		for i, want := range []int{2, 1} {
			m, err := c.StartMigration(int(mine[i].slot()), c.Nodes[1])
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Finish(); err != nil {
				t.Fatal(err)
			}
			if s := meetAll(t, e, mine[i])[0]; s == old {
				t.Fatal("the slot has not been moved")
			}
			if n := len(e.place.servers); n != want {
				t.Errorf("%d servers are known, want %d", n, want)
			}
		}
		if e.place.known(old.identity) != nil {
			t.Error("the server that keeps nothing more is known")
		}
		back, err := c.StartMigration(int(mine[0].slot()), c.Nodes[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := back.Finish(); err != nil {
			t.Fatal(err)
		}
		if s := meetAll(t, e, mine[0])[0]; s.identity != old.identity {
			t.Errorf("the server that has a slot again is %s; was %s", s.identity, old.identity)
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
			identities[meetAll(t, e, n)[0].identity] = true
			s.Kill()
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
		}
		if len(identities) != 4 || len(e.place.servers) != 1 {
			t.Errorf("%d servers have been met, and %d are known, want 4 and 1", len(identities), len(e.place.servers))
		}
	})
}

// Those who meet a server at the same time, by different slots, know one and the same.
func TestAServerIsKnownOnce(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 1, 0, redisserver.Config{})
	e := guardedEngine(t, c)
	all := onNode(e, 0, 1, 20)
	resume := pause(t, c.Nodes[0])
	var work sync.WaitGroup
	var wait atomic.Int32
	found := make([]*server, len(all))
	for i, n := range all {
		work.Go(func() {
			wait.Add(1)
			var err error
			if found[i], err = e.place.ask(t.Context(), n, nil); err != nil {
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
		if s == nil || s != found[0] || s != e.place.known(s.identity) {
			t.Fatal("one server is known as several")
		}
	}
}
