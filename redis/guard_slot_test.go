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

// slotMoves is a Cluster in which a slot with two held locks changes its master.
type slotMoves struct {
	*redisserver.Cluster
	slot     int
	from, to *redisserver.Server

	holder, second *redis.Engine // both know all masters, which are open
	held, heldToo  driver.Request
	ends           time.Time // no lease of the two ends before
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
	m.holder, m.second = open(t, cluster(c), redis.WithMaxTTL(slotMaxTTL)),
		open(t, cluster(c), redis.WithMaxTTL(slotMaxTTL))
	for shard := range 3 {
		for _, e := range []*redis.Engine{m.holder, m.second} {
			r := lasting(tagOn(shard)+"other", slotMaxTTL)
			mustTake(t, e, r)
			release(t, e, r)
		}
	}
	m.held, m.heldToo = lasting(tag+"held", slotMaxTTL), lasting(tag+"held, too", slotMaxTTL)
	m.ends = time.Now().Add(slotMaxTTL)
	mustTake(t, m.holder, m.held)
	mustTake(t, m.holder, m.heldToo)
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

// checkNotGranted checks that the held locks are granted to nobody else, neither by an old engine nor by a new one.
func (m *slotMoves) checkNotGranted(t *testing.T, when string) {
	t.Helper()
	m.checkNotGrantedWithin(t, when, 3*time.Second)
}

// checkNotGrantedWithin is checkNotGranted with takes that are given up after a while.
func (m *slotMoves) checkNotGrantedWithin(t *testing.T, when string, limit time.Duration) {
	t.Helper()
	for kind, e := range map[string]*redis.Engine{"an old engine": m.second, "a new engine": open(t, cluster(m.Cluster),
		redis.WithMaxTTL(slotMaxTTL))} {
		for _, name := range []string{m.held.Name, m.heldToo.Name} {
			err := takeWithin(limit, e, lasting(name, slotMaxTTL))
			if err == nil && time.Now().Before(m.ends) {
				t.Errorf("%s: two hold %q at the same time: %s has granted it", when, name, kind)
			}
		}
	}
}

// checkClosed checks that the slot is closed.
func (m *slotMoves) checkClosed(t *testing.T, when string) {
	t.Helper()
	for end := time.Now().Add(patience); ; { // its client may still ask the master that is gone
		_, err := m.second.Take(t.Context(), lasting(tagOn(0)+"new", slotMaxTTL))
		closed, is := errors.AsType[*redis.ClosedError](err)
		if is && driver.HadNoEffect(err) && !driver.IsPermanent(err) {
			return
		}
		if err == nil || is || time.Now().After(end) {
			t.Errorf("%s: a take of what is free: %v (%v), want a ClosedError without effect", when, err, closed)
			return
		}
	}
}

// What a server that was just started may have lost is not granted by another server to which its slot is moved.
func TestSlotThatIsMovedOutOfQuarantine(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	restart(t, m.from)
	must(t, m.AwaitOK())
	m.checkNotGranted(t, "after the restart")
	must(t, m.start(t).Finish())
	m.checkNotGranted(t, "after the slot was moved")
	m.checkClosed(t, "after the slot was moved")
}

// A slot that is given to another master because its own is gone has lost everything.
func TestSlotOfAMasterThatIsGone(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	m.from.Kill()
	must(t, m.Seize(m.slot, m.to))
	m.checkNotGranted(t, "after the slot was given away")
	m.checkClosed(t, "after the slot was given away")
}

// A slot is half moved, and its master dies: the marker has arrived and one of the locks has not, or the other way
// round.
func TestSlotThatIsHalfMoved(t *testing.T) {
	t.Parallel()
	for name, which := range map[string]func(m *slotMoves, key string) bool{
		"the marker is there": func(_ *slotMoves, key string) bool { return isMarker(key) },
		"one lock is there": func(m *slotMoves, key string) bool {
			return strings.Contains(key, m.held.Name) && !strings.Contains(key, m.heldToo.Name)
		},
		"a lock has no marker": func(_ *slotMoves, key string) bool { return !isMarker(key) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSlotMoves(t)
			slot := m.start(t)
			m.checkNotGrantedWithin(t, "when the slot begins to be moved", 200*time.Millisecond)
			m.move(t, slot, func(key string) bool { return which(m, key) })
			m.checkNotGrantedWithin(t, "when the slot is half moved", 200*time.Millisecond)
			m.from.Kill()
			must(t, m.Seize(m.slot, m.to))
			m.checkNotGranted(t, "after the slot was given away")
			m.checkClosed(t, "after the slot was given away")
		})
	}
}

// A slot comes back by force to a master that had it before. An engine that knows this master has not noticed anything.
func TestSlotThatComesBackEmpty(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	release(t, m.holder, m.held)
	release(t, m.holder, m.heldToo)
	must(t, m.start(t).Finish())
	for _, n := range m.Nodes { // an operator knows that nothing was lost
		trust(t, n)
	}
	m.ends = time.Now().Add(slotMaxTTL)
	later := open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL))
	mustTake(t, later, m.held)
	mustTake(t, later, m.heldToo)
	m.to.Kill()
	must(t, m.Seize(m.slot, m.from))
	m.checkNotGranted(t, "after the slot has come back")
	m.checkClosed(t, "after the slot has come back")
}

// A slot that is moved properly keeps its holders. What is free is granted when leases that may have been lost on the
// way have ended, or at once if an operator says that none was lost. A slot that nobody has used yet is open, as long
// as it stays.
func TestSlotThatIsMovedAsItShould(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	if err := takeWithin(patience, open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL)),
		lasting("of a slot that nobody has used", time.Minute)); err != nil {
		t.Errorf("a take in a slot that was not used yet: %v", err)
	}
	must(t, m.start(t).Finish())
	retryUntilAnswered(t, "the renewal",
		func() error { return renewOne(t.Context(), m.holder, hold(m.held), slotMaxTTL) })
	m.checkNotGranted(t, "after the slot was moved")
	m.checkClosed(t, "after the slot was moved")
	release(t, m.holder, m.held)
	if err := takeWithin(3*time.Second, m.second, m.held); err == nil {
		t.Error("a slot that has another master is open at once")
	}
	opened, err := m.holder.OpenNow(t.Context(), "a test: nothing was lost")
	if want := []string{m.Nodes[0].Addr(), m.Nodes[1].Addr(), m.Nodes[2].Addr()}; err != nil || len(opened) != 3 ||
		!slices.Equal(sorted(opened), sorted(want)) {
		t.Fatalf("opened %q, %v; want %q", opened, err, want)
	}
	eventually(t, "an engine that was refused learns that the slot is open",
		func() bool { return takeWithin(patience, m.second, m.held) == nil })
	err = takeWithin(3*time.Second, m.second, lasting(m.heldToo.Name, slotMaxTTL))
	if !errors.Is(err, driver.ErrHeld) {
		t.Errorf("a take of what is held: %v", err)
	}
	err = takeWithin(patience, m.second, lasting("of another slot that nobody has used", time.Minute))
	if err != nil {
		t.Errorf("a take in a slot that was not used yet: %v", err)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// Several engines use a slot for the first time at once. None waits for leases of others: there were none.
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
			mustTake(t, engines[i], lasting(fmt.Sprint(tagOn(shard), "knows ", i), slotMaxTTL))
		}
	}
	for round := range 10 {
		var all sync.WaitGroup
		start := make(chan struct{})
		for i, e := range engines {
			all.Go(func() {
				<-start
				r := lasting(fmt.Sprintf("{first %d}%d", round, i), slotMaxTTL)
				if _, err := e.Take(t.Context(), r); err != nil {
					t.Errorf("engine %d in slot %d: %v", i, round, err)
				}
			})
		}
		close(start)
		all.Wait()
	}
}
