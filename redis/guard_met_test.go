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

// toAServerThatFails is a move of a lock to a server that then answers no more. A renewal was sent on to that, and the move is broken off.
func toAServerThatFails(t *testing.T, client func(*redisserver.Cluster) newClient, fail func(t *testing.T, to *redisserver.Server) (mend func())) {
	t.Parallel()
	m := newSlotMoves(t)
	m.holder = open(t, client(m.Cluster), redis.WithMaxTTL(slotMaxTTL))
	m.renew(t, m.too, m.held)
	m.move(t, m.start(t), m.onlyHeld)
	mend := fail(t, m.to)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	m.holder.Renew(ctx, []driver.Renewal{{Hold: hold(m.held), TTL: slotMaxTTL}}, func(int, error) {})
	eventually(t, "the marker says that the slot was on its way", func() bool { return m.state(m.from) == "moving" })
	mend()
	m.stays(t)
	m.nobody(t, "after the move was broken off")
	m.closed(t, "after the move was broken off")
}

// stays ends the move of the slot on its old master alone.
func (m *slotMoves) stays(t *testing.T) {
	t.Helper()
	_, err := m.from.Command("CLUSTER", "SETSLOT", strconv.Itoa(m.slot), "STABLE")
	must(t, err)
}

func dies(_ *testing.T, to *redisserver.Server) func() {
	to.Kill()
	return func() {}
}

// A lock has left for a server that answers no more, and its renewal was sent on to it: the slot is known to be half moved all the same.
func TestSlotThatIsOnItsWayToAServerThatFails(t *testing.T) {
	toAServerThatFails(t, cluster, dies)
}

// comesBackFirst is a slot that is met half moved, and whose marker has left along with a lock. The move is broken off, and the marker comes back before the
// lock does.
func comesBackFirst(t *testing.T, meet func(t *testing.T, m *slotMoves)) {
	t.Parallel()
	m := newSlotMoves(t)
	m.move(t, m.start(t), func(key string) bool { return isMarker(key) || m.onlyHeld(key) })
	before := m.digest(t, m.to)
	eventually(t, "the marker, which has left, says something else", func() bool { meet(t, m); return m.digest(t, m.to) != before })
	m.bringBack(t, isMarker)
	m.nobody(t, "when the marker has come back")
	m.closed(t, "when the marker has come back")
}

func TestMarkerThatComesBackBeforeALock(t *testing.T) {
	comesBackFirst(t, func(t *testing.T, m *slotMoves) { m.renew(t, m.held) })
}

// digest is what Redis computes of what the marker says, also for a server that has it and not the slot.
func (m *slotMoves) digest(t *testing.T, s *redisserver.Server) string {
	t.Helper()
	for _, key := range command(t, s, "KEYS", "*:guard").([]any) {
		if redisserver.Slot(fmt.Sprint(key)) == m.slot {
			return fmt.Sprint(command(t, s, "DEBUG", "DIGEST-VALUE", fmt.Sprint(key)))
		}
	}
	return ""
}

// bringBack breaks a move off as redis-cli --cluster fix does where the old master knows nothing of it any more: that keeps the slot, and gets keys back.
func (m *slotMoves) bringBack(t *testing.T, which func(key string) bool) {
	t.Helper()
	m.stays(t)
	m.move(t, &redisserver.Migration{Slot: m.slot, From: m.to, To: m.from}, which)
}
