package redis_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// checkMoveToFailingServer moves a lock to a server that then stops answering. A renewal was redirected to it, and the
// move is broken off.
func checkMoveToFailingServer(t *testing.T, client func(*redisserver.Cluster) newClient,
	fail func(t *testing.T, to *redisserver.Server) (restore func())) {
	t.Parallel()
	m := newSlotMoves(t)
	m.holder = open(t, client(m.Cluster), redis.WithMaxTTL(slotMaxTTL))
	m.renew(t, m.heldToo, m.held)
	m.move(t, m.start(t), m.onlyHeld)
	restore := fail(t, m.to)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	m.holder.Renew(ctx, []driver.Renewal{{Hold: hold(m.held), TTL: slotMaxTTL}}, func(int, error) {})
	eventually(t, "the marker says that the slot was being moved",
		func() bool { return m.markerState(m.from) == "moving" })
	restore()
	m.endMoveOnOldMaster(t)
	m.checkNotGranted(t, "after the move was broken off")
	m.checkClosed(t, "after the move was broken off")
}

// endMoveOnOldMaster ends the move of the slot on its old master alone.
func (m *slotMoves) endMoveOnOldMaster(t *testing.T) {
	t.Helper()
	_, err := m.from.Command("CLUSTER", "SETSLOT", strconv.Itoa(m.slot), "STABLE")
	must(t, err)
}

func killServer(_ *testing.T, to *redisserver.Server) func() {
	to.Kill()
	return func() {}
}

// A lock was moved to a server that stops answering, and its renewal was redirected there. The slot is known to be half
// moved nevertheless.
func TestSlotThatIsOnItsWayToAServerThatFails(t *testing.T) {
	checkMoveToFailingServer(t, cluster, killServer)
}

// checkMarkerComesBackFirst lets engines use a half moved slot whose marker has left along with a lock. The move is
// broken off, and the marker comes back before the lock does.
func checkMarkerComesBackFirst(t *testing.T, meet func(t *testing.T, m *slotMoves)) {
	t.Parallel()
	m := newSlotMoves(t)
	m.move(t, m.start(t), func(key string) bool { return isMarker(key) || m.onlyHeld(key) })
	before := m.markerDigest(t, m.to)
	eventually(t, "the marker, which has left, says something else",
		func() bool { meet(t, m); return m.markerDigest(t, m.to) != before })
	m.moveBack(t, isMarker)
	m.checkNotGranted(t, "when the marker has come back")
	m.checkClosed(t, "when the marker has come back")
}

func TestMarkerThatComesBackBeforeALock(t *testing.T) {
	checkMarkerComesBackFirst(t, func(t *testing.T, m *slotMoves) { m.renew(t, m.held) })
}

// markerDigest is the digest that Redis computes of the slot's marker, also on a server that has the marker and not the
// slot.
func (m *slotMoves) markerDigest(t *testing.T, s *redisserver.Server) string {
	t.Helper()
	for _, key := range command(t, s, "KEYS", "*:guard").([]any) {
		if redisserver.Slot(fmt.Sprint(key)) == m.slot {
			return fmt.Sprint(command(t, s, "DEBUG", "DIGEST-VALUE", fmt.Sprint(key)))
		}
	}
	return ""
}

// moveBack breaks a move off as redis-cli --cluster fix does if the old master does not know of it any more: the old
// master keeps the slot, and gets keys back.
func (m *slotMoves) moveBack(t *testing.T, which func(key string) bool) {
	t.Helper()
	m.endMoveOnOldMaster(t)
	m.move(t, &redisserver.Migration{Slot: m.slot, From: m.to, To: m.from, Replaces: true}, which)
}
