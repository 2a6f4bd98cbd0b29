package redis_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// breakOff ends the move of the slot on both masters. The keys that were moved stay where they are, and the slot where
// it was.
func (m *slotMoves) breakOff(t *testing.T) {
	t.Helper()
	for _, n := range []*redisserver.Server{m.from, m.to} {
		_, err := n.Command("CLUSTER", "SETSLOT", strconv.Itoa(m.slot), "STABLE")
		must(t, err)
	}
}

// onlyHeld selects the keys of one of the two locks, without the marker.
func (m *slotMoves) onlyHeld(key string) bool {
	return strings.Contains(key, m.held.Name) && !strings.Contains(key, m.heldToo.Name)
}

// markerState is the state in the slot's marker on a server.
func (m *slotMoves) markerState(s *redisserver.Server) string {
	keys, err := s.Command("CLUSTER", "GETKEYSINSLOT", strconv.Itoa(m.slot), "1000")
	list, _ := keys.([]any)
	for _, k := range list {
		if key := fmt.Sprint(k); isMarker(key) {
			text, _ := s.Command("GET", key)
			if fields := strings.Fields(fmt.Sprint(text)); len(fields) > 1 {
				return fields[1]
			}
		}
	}
	return fmt.Sprint("none ", err)
}

// useUntilMoving uses the half moved slot until the marker on its old master says so.
func (m *slotMoves) useUntilMoving(t *testing.T, use func()) {
	t.Helper()
	eventually(t, "the marker says that the slot was being moved",
		func() bool { use(); return m.markerState(m.from) == "moving" })
}

// checkBrokenOffMove breaks a move off when the keys that gone selects have left. The slot never had another owner.
func checkBrokenOffMove(
	t *testing.T, gone func(m *slotMoves, key string) bool, before, use func(t *testing.T, m *slotMoves),
) {
	t.Parallel()
	m := newSlotMoves(t)
	if before != nil {
		before(t, m)
	}
	m.move(t, m.start(t), func(key string) bool { return gone(m, key) })
	if use != nil {
		m.useUntilMoving(t, func() { use(t, m) })
	}
	m.breakOff(t)
	m.checkNotGranted(t, "after the move was broken off")
	m.checkClosed(t, "after the move was broken off")
}

// If the move of a slot is broken off, locks that were moved stay behind. Engines that have used the half moved slot
// have closed it.
func TestSlotWhoseMoveIsBrokenOff(t *testing.T) {
	t.Parallel()
	t.Run("the marker has left, too", func(t *testing.T) {
		checkBrokenOffMove(t, func(m *slotMoves, key string) bool { return isMarker(key) || m.onlyHeld(key) }, nil, nil)
	})
	t.Run("a new engine has asked", func(t *testing.T) {
		checkBrokenOffMove(t, (*slotMoves).onlyHeld, nil, func(t *testing.T, m *slotMoves) {
			_ = takeWithin(time.Second, open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL)), m.held)
		})
	})
	t.Run("the holder has renewed", func(t *testing.T) {
		checkBrokenOffMove(t, (*slotMoves).onlyHeld, nil, func(t *testing.T, m *slotMoves) { m.renew(t, m.held) })
	})
}

// renew renews locks together. Those in a slot that is being moved may be refused.
func (m *slotMoves) renew(t *testing.T, all ...driver.Request) {
	t.Helper()
	var items []driver.Renewal
	for _, r := range all {
		items = append(items, driver.Renewal{Hold: hold(r), TTL: slotMaxTTL})
	}
	m.holder.Renew(t.Context(), items, func(i int, err error) {
		if err == nil && all[i].Name == m.held.Name {
			m.ends = time.Now().Add(slotMaxTTL - time.Second)
		}
	})
}

// inAnotherSlot asks for a lock in another slot of the same master.
func (m *slotMoves) inAnotherSlot() driver.Request {
	for i := 1000; ; i++ {
		tag := fmt.Sprintf("{%d}", i)
		if slot := redisserver.Slot(tag); slot < redisserver.Slots/3 && slot != m.slot && slot != 0 {
			return lasting(tag+"another", slotMaxTTL)
		}
	}
}

// Locks in slots that stay are renewed at once, even if a slot of the same batch is on its way to a frozen server.
func TestRenewalsDoNotWaitForASlotThatIsMoved(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	stays := m.inAnotherSlot()
	mustTake(t, m.holder, stays)
	m.move(t, m.start(t), func(key string) bool { return isMarker(key) || m.onlyHeld(key) })
	must(t, m.to.Pause())
	defer m.to.Resume()
	renewed := make(chan error, 1)
	items := []driver.Renewal{{Hold: hold(m.held), TTL: slotMaxTTL}, {Hold: hold(m.heldToo), TTL: slotMaxTTL},
		{Hold: hold(stays), TTL: slotMaxTTL}}
	go m.holder.Renew(t.Context(), items, func(i int, err error) {
		if i == 2 {
			renewed <- err
		}
	})
	select {
	case err := <-renewed:
		must(t, err)
	case <-time.After(slotMaxTTL / 3):
		t.Error("the renewal of what stays has no answer yet")
	}
}

// An operator gives a slot back to a master that had it before, without a new epoch, and without what was locked
// meanwhile.
func TestSlotThatComesBackWithoutANewEpoch(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	release(t, m.holder, m.held)
	release(t, m.holder, m.heldToo)
	must(t, m.start(t).Finish())
	trust(t, m.to) // an operator knows that nothing was lost
	m.ends = time.Now().Add(slotMaxTTL)
	later := open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL))
	mustTake(t, later, m.held)
	mustTake(t, later, m.heldToo)
	id, err := m.from.Command("CLUSTER", "MYID")
	must(t, err)
	m.to.Kill()
	for _, n := range m.Nodes {
		if n != m.to {
			_, err := n.Command("CLUSTER", "SETSLOT", strconv.Itoa(m.slot), "NODE", id.(string))
			must(t, err)
		}
	}
	m.checkNotGranted(t, "after the slot has come back")
	m.checkClosed(t, "after the slot has come back")
}

// A slot that is closed because its move was broken off opens when the longest lease has ended, or when an operator
// opens it.
func TestSlotThatStaysOpensAgain(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	closeSlot := func(name string) driver.Request {
		m.start(t)
		free := lasting(tagOn(0)+name, slotMaxTTL)
		m.useUntilMoving(t, func() { _ = takeWithin(200*time.Millisecond, m.second, free) })
		m.breakOff(t)
		m.checkClosed(t, "after the move was broken off")
		return free
	}
	free := closeSlot("by time")
	m.makeMarkersOld(t, m.from)
	eventually(t, "the slot opens after a time", func() bool { return takeWithin(time.Second, m.second, free) == nil })
	free = closeSlot("by OpenNow")
	_, err := m.second.OpenNow(t.Context(), "a test")
	must(t, err)
	eventually(t, "the slot is opened by OpenNow",
		func() bool { return takeWithin(time.Second, m.second, free) == nil })
}

// makeMarkersOld makes the markers and records of a server so old that all leases from before them have ended.
func (m *slotMoves) makeMarkersOld(t *testing.T, s *redisserver.Server) {
	t.Helper()
	keys, err := s.Command("KEYS", "*lock::guard*")
	must(t, err)
	for _, k := range keys.([]any) {
		text, err := s.Command("GET", fmt.Sprint(k))
		must(t, err)
		fields := strings.Fields(fmt.Sprint(text))
		if strings.HasSuffix(fmt.Sprint(k), "-master") {
			fields[1] = "1"
		} else {
			fields[2] = "1"
		}
		_, err = s.Command("SET", fmt.Sprint(k), strings.Join(fields, " "))
		must(t, err)
	}
}
