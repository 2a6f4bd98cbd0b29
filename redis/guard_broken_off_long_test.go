//go:build long

package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// More cases in which a slot is half moved.
func TestMoreMovesThatAreBrokenOff(t *testing.T) {
	t.Parallel()
	t.Run("all keys have left", func(t *testing.T) {
		checkBrokenOffMove(t, func(*slotMoves, string) bool { return true }, nil, nil)
	})
	t.Run("an engine that was idle has asked", func(t *testing.T) {
		checkBrokenOffMove(t, (*slotMoves).onlyHeld,
			func(*testing.T, *slotMoves) { time.Sleep(1200 * time.Millisecond) }, func(_ *testing.T, m *slotMoves) {
				_ = takeWithin(200*time.Millisecond, m.second, m.held)
			})
	})
	t.Run("an engine that knows another master has asked", func(t *testing.T) {
		var third *redis.Engine
		checkBrokenOffMove(t, (*slotMoves).onlyHeld, func(t *testing.T, m *slotMoves) {
			third = open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL))
			mustTake(t, third, lasting(tagOn(1)+"knows", slotMaxTTL))
		}, func(_ *testing.T, m *slotMoves) {
			_ = takeWithin(200*time.Millisecond, third, m.held)
		})
	})
	t.Run("the holder has renewed together with a lock that was moved before", func(t *testing.T) {
		var moved driver.Request
		checkBrokenOffMove(t, (*slotMoves).onlyHeld, func(t *testing.T, m *slotMoves) {
			moved = m.inAnotherSlot()
			mustTake(t, m.holder, moved)
			slot, err := m.StartMigration(redisserver.Slot(moved.Name), m.to)
			must(t, err)
			must(t, slot.Finish())
		}, func(t *testing.T, m *slotMoves) { m.renew(t, moved, m.held) })
	})
	t.Run("the holder has renewed with replicas", func(t *testing.T) {
		checkBrokenOffMove(t, (*slotMoves).onlyHeld, func(t *testing.T, m *slotMoves) {
			m.holder = open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL),
				redis.WithReplicas(1, 50*time.Millisecond))
			m.renew(t, m.heldToo)
		}, func(t *testing.T, m *slotMoves) { m.renew(t, m.held) })
	})
}

// takeInOtherSlot takes a lock in a slot of a server that nobody has used.
func (m *slotMoves) takeInOtherSlot(t *testing.T, on *redisserver.Server, names ...string) error {
	t.Helper()
	for _, tag := range names {
		if owner, err := m.Owner(redisserver.Slot(tag)); err == nil && owner == on && redisserver.Slot(tag) != m.slot {
			return takeWithin(2*time.Second, m.second, lasting(tag+"unused", time.Second))
		}
	}
	return errors.New("no slot of the server")
}

var someTags = strings.Fields("{5000} {5001} {5002} {5003} {5004} {5005} {5006} {5007} {5008} {5009} {5010} {5011} " +
	"{5012} {5013} {5014} {5015}")

// The record of a master is written anew when its lowest slot has left. It still lists all markers.
func TestSlotThatLosesItsMarkerAfterTheRecord(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	slot, err := m.StartMigration(0, m.to)
	must(t, err)
	must(t, slot.Finish())
	_ = m.takeInOtherSlot(t, m.from, someTags...)
	m.makeMarkersOld(t, m.from)
	m.move(t, m.start(t), func(key string) bool { return isMarker(key) || m.onlyHeld(key) })
	m.breakOff(t)
	m.checkNotGranted(t, "after the move was broken off")
}

// A slot came to its master by a move, and a move away from it is broken off.
func TestSlotThatCameByAMove(t *testing.T) {
	t.Parallel()
	for name, marker := range map[string]bool{"the marker has left, too": true, "the marker is there": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSlotMoves(t)
			must(t, m.start(t).Finish())
			m.checkNotGrantedWithin(t, "after the move", 200*time.Millisecond) // the marker is that of the new master
			_ = m.takeInOtherSlot(t, m.to, someTags...)
			m.makeMarkersOld(t, m.to)
			m.held = lasting(tagOn(0)+"later", slotMaxTTL)
			eventually(t, "the slot is open", func() bool {
				m.ends = time.Now().Add(slotMaxTTL)
				return takeWithin(time.Second, m.holder, m.held) == nil
			})
			m.from, m.to = m.to, m.Nodes[2]
			m.move(t, m.start(t), func(key string) bool { return marker && isMarker(key) || m.onlyHeld(key) })
			if !marker {
				m.useUntilMoving(t, func() { _ = takeWithin(200*time.Millisecond, m.second, m.held) })
			}
			m.breakOff(t)
			m.checkNotGranted(t, "after the move was broken off")
		})
	}
}

// A slot goes to another master and back. Nobody takes anything meanwhile, but holders renew. On the way back its
// master loses everything.
func TestSlotThatIsMovedThereAndBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, m *slotMoves, back *redisserver.Migration){
		"the master dies": func(t *testing.T, m *slotMoves, _ *redisserver.Migration) {
			m.to.Kill()
			must(t, m.Seize(m.slot, m.from))
		},
		"the master restarts": func(t *testing.T, m *slotMoves, back *redisserver.Migration) {
			restart(t, m.to)
			must(t, m.AwaitOK())
			must(t, back.Finish())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSlotMoves(t)
			must(t, m.start(t).Finish())
			for _, r := range []driver.Request{m.held, m.heldToo} {
				retryUntilAnswered(t, "the renewal",
					func() error { return renewOne(t.Context(), m.holder, hold(r), slotMaxTTL) })
			}
			m.ends = time.Now().Add(slotMaxTTL - time.Second)
			eventually(t, "the marker is that of the new master", func() bool { return m.markerState(m.to) == "other" })
			back, err := m.StartMigration(m.slot, m.from)
			must(t, err)
			m.move(t, back, isMarker)
			end(t, m, back)
			m.checkNotGranted(t, "after the slot has come back")
		})
	}
}

// An operator opens the servers while a lock and its marker are on another one.
func TestOpenNowWhileASlotIsHalfMoved(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	m.move(t, m.start(t), func(key string) bool { return isMarker(key) || m.onlyHeld(key) })
	_, err := m.holder.OpenNow(t.Context(), "a test")
	must(t, err)
	m.breakOff(t)
	m.checkNotGranted(t, "after the move was broken off")
}

// While the slot of the record is being moved, other slots are used for the first time.
func TestFirstUseWhileTheRecordIsMoved(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	must(t, m.takeInOtherSlot(t, m.from, someTags[:8]...))
	_, err := m.StartMigration(0, m.to)
	must(t, err)
	if err := m.takeInOtherSlot(t, m.from, someTags[8:]...); err != nil {
		t.Errorf("the first use of a slot that stays: %v", err)
	}
}

// A server that was known as a replica, and has the replication ID of an earlier time as a master, is not trusted when
// it is promoted at once.
func TestServerThatWasMetAsAReplica(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	first, second := r.Master, r.Replicas[0]
	trust(t, first)
	mustTake(t, open(t, standalone(first), redis.WithMaxTTL(slotMaxTTL)), lasting("a", slotMaxTTL))
	must(t, second.AwaitReplicaOf(first))
	command(t, second, "REPLICAOF", "NO", "ONE")
	command(t, second, "DEBUG", "CHANGE-REPL-ID") // as after an hour without replicas
	command(t, first, "REPLICAOF", "127.0.0.1", strings.Split(second.Addr(), ":")[1])
	must(t, first.AwaitReplicaOf(second))
	e := open(t, standalone(first), redis.WithMaxTTL(slotMaxTTL))
	holder, held := open(t, standalone(second), redis.WithMaxTTL(slotMaxTTL)), lasting("b", slotMaxTTL)
	var ends time.Time
	doUnreplicated(t, second, []*redisserver.Server{first}, func() {
		trust(t, second)
		ends = time.Now().Add(slotMaxTTL)
		mustTake(t, holder, held)
	})
	for range 2 { // an engine younger than a second, and an older one
		if err := takeWithin(5*time.Second, e, lasting("b", slotMaxTTL)); err == nil {
			t.Fatal("a replica has granted something")
		}
		time.Sleep(1100 * time.Millisecond)
	}
	_ = takeWithin(5*time.Second, e, lasting("b", slotMaxTTL))
	command(t, first, "REPLICAOF", "NO", "ONE")
	if err := takeWithin(5*time.Second, e, lasting("b", slotMaxTTL)); err == nil && time.Now().Before(ends) {
		t.Error("two hold the lock")
	}
}
