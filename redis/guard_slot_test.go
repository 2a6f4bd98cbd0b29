package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// slotMoves is a Cluster in which a slot with two locks that are held changes its master.
type slotMoves struct {
	*redisserver.Cluster
	slot     int
	from, to *redisserver.Server

	holder, second *redis.Engine // both know all masters, and find them open
	held, too      driver.Request
	ends           time.Time // of both leases, at least
}

const slotMaxTTL = 30 * time.Second

func newSlotMoves(t *testing.T) *slotMoves {
	t.Helper()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{Lines: []string{"cluster-require-full-coverage no"}})
	for _, n := range c.Nodes {
		trust(t, n)
	}
	tag := tagOn(0)
	m := &slotMoves{Cluster: c, slot: redisserver.Slot(tag), from: c.Nodes[0], to: c.Nodes[1]}
	m.holder, m.second = open(t, cluster(c), redis.WithMaxTTL(slotMaxTTL)), open(t, cluster(c), redis.WithMaxTTL(slotMaxTTL))
	for shard := range 3 {
		for _, e := range []*redis.Engine{m.holder, m.second} {
			r := lasting(tagOn(shard)+"other", slotMaxTTL)
			takes(t, e, r)
			release(t, e, r)
		}
	}
	m.held, m.too = lasting(tag+"held", slotMaxTTL), lasting(tag+"held, too", slotMaxTTL)
	m.ends = time.Now().Add(slotMaxTTL)
	takes(t, m.holder, m.held)
	takes(t, m.holder, m.too)
	return m
}

// start begins to move the slot.
func (m *slotMoves) start(t *testing.T) *redisserver.Migration {
	t.Helper()
	slot, err := m.StartMigration(m.slot, m.to)
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// move moves those keys of the slot for which a condition holds.
func (m *slotMoves) move(t *testing.T, slot *redisserver.Migration, which func(key string) bool) {
	t.Helper()
	keys, err := slot.Keys()
	must(t, err)
	must(t, slot.Move(slices.DeleteFunc(keys, func(key string) bool { return !which(key) })...))
}

func isMarker(key string) bool { return strings.HasSuffix(key, ":guard") }

// nobody checks that nobody else is granted what is held, by an engine that was there and by one that comes now.
func (m *slotMoves) nobody(t *testing.T, when string) {
	t.Helper()
	m.nobodyWithin(t, when, 3*time.Second)
}

// nobodyWithin is nobody, for takes that are given up after a while.
func (m *slotMoves) nobodyWithin(t *testing.T, when string, limit time.Duration) {
	t.Helper()
	for who, e := range map[string]*redis.Engine{"who was there": m.second, "who comes now": open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL))} {
		for _, name := range []string{m.held.Name, m.too.Name} {
			err := takesWithin(limit, e, lasting(name, slotMaxTTL))
			if err == nil && time.Now().Before(m.ends) {
				t.Errorf("%s: two hold %q at the same time: one %s was granted it", when, name, who)
			}
		}
	}
}

// closed checks that the slot is closed.
func (m *slotMoves) closed(t *testing.T, when string) {
	t.Helper()
	var closed *redis.ClosedError
	_, err := m.second.Take(t.Context(), lasting(tagOn(0)+"new", slotMaxTTL))
	if !errors.As(err, &closed) || !driver.HadNoEffect(err) || driver.IsPermanent(err) {
		t.Errorf("%s: a take of what is free: %v, want a ClosedError without effect", when, err)
	}
}

// What a server that has just been started may have lost is not granted by another one to which a slot of it is moved.
func TestSlotThatIsMovedOutOfQuarantine(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	restart(t, m.from)
	must(t, m.AwaitOK())
	m.nobody(t, "after the restart")
	must(t, m.start(t).Finish())
	m.nobody(t, "after the slot was moved")
	m.closed(t, "after the slot was moved")
}

// A slot that is given to another master as its own is gone has lost all.
func TestSlotOfAMasterThatIsGone(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	m.from.Kill()
	must(t, m.Seize(m.slot, m.to))
	m.nobody(t, "after the slot was given away")
	m.closed(t, "after the slot was given away")
}

// A slot is half moved, and its master dies: the marker is where the slot is given to, and one of the locks is not; or the other way round.
func TestSlotThatIsHalfMoved(t *testing.T) {
	t.Parallel()
	for name, which := range map[string]func(m *slotMoves, key string) bool{
		"the marker is there": func(_ *slotMoves, key string) bool { return isMarker(key) },
		"one lock is there": func(m *slotMoves, key string) bool {
			return strings.Contains(key, m.held.Name) && !strings.Contains(key, m.too.Name)
		},
		"a lock has no marker": func(_ *slotMoves, key string) bool { return !isMarker(key) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSlotMoves(t)
			slot := m.start(t)
			m.nobodyWithin(t, "when the slot begins to be moved", 200*time.Millisecond)
			m.move(t, slot, func(key string) bool { return which(m, key) })
			m.nobodyWithin(t, "when the slot is half moved", 200*time.Millisecond)
			m.from.Kill()
			must(t, m.Seize(m.slot, m.to))
			m.nobody(t, "after the slot was given away")
			m.closed(t, "after the slot was given away")
		})
	}
}

// A slot comes back by force to a master that had it before, and that has an engine which never heard of it.
func TestSlotThatComesBackEmpty(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	release(t, m.holder, m.held)
	release(t, m.holder, m.too)
	must(t, m.start(t).Finish())
	for _, n := range m.Nodes { // an operator knows that nothing was lost
		trust(t, n)
	}
	m.ends = time.Now().Add(slotMaxTTL)
	comes := open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL))
	takes(t, comes, m.held)
	takes(t, comes, m.too)
	m.to.Kill()
	must(t, m.Seize(m.slot, m.from))
	m.nobody(t, "after the slot has come back")
	m.closed(t, "after the slot has come back")
}

// A slot that is moved as it should be keeps its holders. What is free is granted when leases have ended that may have been lost on the way, or at once
// if somebody says that none was. A slot that nobody has used yet waits for nothing, as long as it stays.
func TestSlotThatIsMovedAsItShould(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	if err := takesWithin(patience, open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL)), lasting("of a slot that nobody has used", time.Minute)); err != nil {
		t.Errorf("a take in a slot that was not used yet: %v", err)
	}
	must(t, m.start(t).Finish())
	persistently(t, "the renewal", func() error { return renews(t.Context(), m.holder, hold(m.held), slotMaxTTL) })
	m.nobody(t, "after the slot was moved")
	m.closed(t, "after the slot was moved")
	release(t, m.holder, m.held)
	if err := takesWithin(3*time.Second, m.second, m.held); err == nil {
		t.Error("a slot that has another master is open at once")
	}
	opened, err := m.holder.OpenNow(t.Context(), "a test: nothing was lost")
	if want := []string{m.Nodes[0].Addr(), m.Nodes[1].Addr(), m.Nodes[2].Addr()}; err != nil || len(opened) != 3 || !slices.Equal(sorted(opened), sorted(want)) {
		t.Fatalf("opened are %q, %v; want %q", opened, err, want)
	}
	eventually(t, "one who was refused hears that the slot is open", func() bool { return takesWithin(patience, m.second, m.held) == nil })
	if err := takesWithin(3*time.Second, m.second, lasting(m.too.Name, slotMaxTTL)); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("a take of what is held: %v", err)
	}
	if err := takesWithin(patience, m.second, lasting("of another slot that nobody has used", time.Minute)); err != nil {
		t.Errorf("a take in a slot that was not used yet: %v", err)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// Several come at the same time to a slot that nobody has used yet. None waits for leases of others: there were none.
func TestSlotThatSeveralUseFirst(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{Lines: []string{"cluster-require-full-coverage no"}})
	for _, n := range c.Nodes {
		trust(t, n)
	}
	var engines [6]*redis.Engine
	for i := range engines {
		engines[i] = open(t, cluster(c), redis.WithMaxTTL(slotMaxTTL))
		for shard := range c.Nodes {
			takes(t, engines[i], lasting(fmt.Sprint(tagOn(shard), "knows ", i), slotMaxTTL))
		}
	}
	for round := range 10 {
		var all sync.WaitGroup
		start := make(chan struct{})
		for i, e := range engines {
			all.Go(func() {
				<-start
				if _, err := e.Take(t.Context(), lasting(fmt.Sprintf("{first %d}%d", round, i), slotMaxTTL)); err != nil {
					t.Errorf("engine %d in slot %d: %v", i, round, err)
				}
			})
		}
		close(start)
		all.Wait()
	}
}
