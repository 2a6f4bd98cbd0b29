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

// breakOff ends the move of the slot on both masters. What was moved stays where it is, and the slot where it was.
func (m *slotMoves) breakOff(t *testing.T) {
	t.Helper()
	for _, n := range []*redisserver.Server{m.from, m.to} {
		_, err := n.Command("CLUSTER", "SETSLOT", strconv.Itoa(m.slot), "STABLE")
		must(t, err)
	}
}

// onlyHeld is one of the two locks, without the marker.
func (m *slotMoves) onlyHeld(key string) bool {
	return strings.Contains(key, m.held.Name) && !strings.Contains(key, m.too.Name)
}

// state is what the marker of the slot says on a server.
func (m *slotMoves) state(s *redisserver.Server) string {
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

// meet lets somebody meet the slot while it is half moved, until its old master knows that.
func (m *slotMoves) meet(t *testing.T, who func()) {
	t.Helper()
	eventually(t, "the marker says that the slot was on its way", func() bool { who(); return m.state(m.from) == "moving" })
}

// brokenOff is a move that ends when one lock, or more, has left. The slot never had another owner.
func brokenOff(t *testing.T, gone func(m *slotMoves, key string) bool, before, meet func(t *testing.T, m *slotMoves)) {
	t.Parallel()
	m := newSlotMoves(t)
	if before != nil {
		before(t, m)
	}
	m.move(t, m.start(t), func(key string) bool { return gone(m, key) })
	if meet != nil {
		m.meet(t, func() { meet(t, m) })
	}
	m.breakOff(t)
	m.nobody(t, "after the move was broken off")
	m.closed(t, "after the move was broken off")
}

// A move of a slot is broken off, and locks that were moved stay behind: whoever has met the slot half moved has closed it.
func TestSlotWhoseMoveIsBrokenOff(t *testing.T) {
	t.Parallel()
	t.Run("the marker has left, too", func(t *testing.T) {
		brokenOff(t, func(m *slotMoves, key string) bool { return isMarker(key) || m.onlyHeld(key) }, nil, nil)
	})
	t.Run("somebody who comes now has asked", func(t *testing.T) {
		brokenOff(t, (*slotMoves).onlyHeld, nil, func(t *testing.T, m *slotMoves) {
			_ = takesWithin(time.Second, open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL)), m.held)
		})
	})
	t.Run("the holder has renewed", func(t *testing.T) {
		brokenOff(t, (*slotMoves).onlyHeld, nil, func(t *testing.T, m *slotMoves) { m.renew(t, m.held) })
	})
}

// renew renews locks together. Those of a slot on its way may be refused.
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

// inAnotherSlot is the name of a lock in another slot of the same master.
func (m *slotMoves) inAnotherSlot() driver.Request {
	for i := 1000; ; i++ {
		tag := fmt.Sprintf("{%d}", i)
		if slot := redisserver.Slot(tag); slot < redisserver.Slots/3 && slot != m.slot && slot != 0 {
			return lasting(tag+"another", slotMaxTTL)
		}
	}
}

// What stays is renewed at once, also if a slot of the same batch is on its way to a server that is frozen.
func TestRenewalsDoNotWaitForASlotThatIsMoved(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	stays := m.inAnotherSlot()
	takes(t, m.holder, stays)
	m.move(t, m.start(t), func(key string) bool { return isMarker(key) || m.onlyHeld(key) })
	must(t, m.to.Pause())
	defer m.to.Resume()
	renewed := make(chan error, 1)
	items := []driver.Renewal{{Hold: hold(m.held), TTL: slotMaxTTL}, {Hold: hold(m.too), TTL: slotMaxTTL}, {Hold: hold(stays), TTL: slotMaxTTL}}
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

// A slot is given back by hand to a master that had it before, without an epoch of its own and without what was locked meanwhile.
func TestSlotThatComesBackWithoutANewEpoch(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	release(t, m.holder, m.held)
	release(t, m.holder, m.too)
	must(t, m.start(t).Finish())
	trust(t, m.to) // an operator knows that nothing was lost
	m.ends = time.Now().Add(slotMaxTTL)
	comes := open(t, cluster(m.Cluster), redis.WithMaxTTL(slotMaxTTL))
	takes(t, comes, m.held)
	takes(t, comes, m.too)
	id, err := m.from.Command("CLUSTER", "MYID")
	must(t, err)
	m.to.Kill()
	for _, n := range m.Nodes {
		if n != m.to {
			_, err := n.Command("CLUSTER", "SETSLOT", strconv.Itoa(m.slot), "NODE", id.(string))
			must(t, err)
		}
	}
	m.nobody(t, "after the slot has come back")
	m.closed(t, "after the slot has come back")
}

// A slot that was closed since its move was broken off opens when the longest lease is over, and by a word.
func TestSlotThatStaysOpensAgain(t *testing.T) {
	t.Parallel()
	m := newSlotMoves(t)
	meet := func(name string) driver.Request {
		m.start(t)
		free := lasting(tagOn(0)+name, slotMaxTTL)
		m.meet(t, func() { _ = takesWithin(200*time.Millisecond, m.second, free) })
		m.breakOff(t)
		m.closed(t, "after the move was broken off")
		return free
	}
	free := meet("by time")
	m.age(t, m.from)
	eventually(t, "it opens by time", func() bool { return takesWithin(time.Second, m.second, free) == nil })
	free = meet("by a word")
	_, err := m.second.OpenNow(t.Context(), "a test")
	must(t, err)
	eventually(t, "it opens by a word", func() bool { return takesWithin(time.Second, m.second, free) == nil })
}

// age makes the markers and the records of a server as if all leases were over that are older.
func (m *slotMoves) age(t *testing.T, s *redisserver.Server) {
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
