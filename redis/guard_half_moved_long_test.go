//go:build long

package redis_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// More servers that fail while a slot is moved to them.
func TestMoreMovesToAServerThatFails(t *testing.T) {
	t.Parallel()
	freezes := func(t *testing.T, to *redisserver.Server) func() {
		must(t, to.Pause())
		return func() { must(t, to.Resume()) }
	}
	t.Run("it is gone, for a hasty client", func(t *testing.T) { checkMoveToFailingServer(t, hasty, killServer) })
	t.Run("it is frozen", func(t *testing.T) { checkMoveToFailingServer(t, cluster, freezes) })
	t.Run("it is frozen, for a hasty client", func(t *testing.T) { checkMoveToFailingServer(t, hasty, freezes) })
}

// More cases in which an engine uses a slot whose marker has left.
func TestMoreMarkersThatComeBackBeforeALock(t *testing.T) {
	t.Parallel()
	t.Run("an old engine has asked", func(t *testing.T) {
		checkMarkerComesBackFirst(t, func(_ *testing.T, m *slotMoves) {
			_ = takeWithin(200*time.Millisecond, m.second, lasting(tagOn(0)+"new", slotMaxTTL))
		})
	})
	t.Run("a new engine has asked", func(t *testing.T) {
		checkMarkerComesBackFirst(t, func(t *testing.T, m *slotMoves) {
			_ = takeWithin(time.Second, open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL)), m.held)
		})
	})
}

// A lock is moved to a server to which renewals of the same batch were redirected before, and the move is broken off.
func TestRenewalsThatAreSentOnAgain(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	moved := m.inAnotherSlot()
	mustTake(t, m.holder, moved)
	slot, err := m.StartMigration(redisserver.Slot(moved.Name), m.to)
	must(t, err)
	must(t, slot.Finish())
	m.move(t, m.start(t), m.onlyHeld)
	m.useUntilMoving(t, func() { m.renew(t, moved, m.held) })
	m.moveBack(t, m.onlyHeld)
	_, err = m.second.OpenNow(t.Context(), "a test: all has come back")
	must(t, err)
	m.move(t, m.start(t), m.onlyHeld)
	m.useUntilMoving(t, func() { m.renew(t, moved, m.held) })
	m.breakOff(t)
	m.checkNotGranted(t, "after the second move was broken off")
	m.checkClosed(t, "after the second move was broken off")
}

// Locks in slots that stay are renewed also with replicas that confirm, and also if the first of the batch is being
// moved.
func TestRenewalsWithReplicasBesideASlotThatIsMoved(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	stays := m.inAnotherSlot()
	mustTake(t, m.holder, stays)
	m.holder = open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL), redis.WithReplicas(1, 50*time.Millisecond))
	m.renew(t, m.held, stays)
	m.move(t, m.start(t), m.onlyHeld)
	key := "lock:" + stays.Name
	command(t, m.from, "PEXPIRE", key, "5000")
	items := []driver.Renewal{{Hold: hold(m.held), TTL: slotMaxTTL}, {Hold: hold(stays), TTL: slotMaxTTL}}
	m.holder.Renew(t.Context(), items, func(int, error) {}) // there are no replicas
	if left := command(t, m.from, "PTTL", key).(int64); left < 10000 {
		t.Errorf("the lease in the slot that stays has %d ms left: it was not renewed", left)
	}
}
