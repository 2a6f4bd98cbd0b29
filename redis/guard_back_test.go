package redis_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

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

// A move of a slot is broken off, and locks that were moved stay behind. The slot has never had another owner.
func TestSlotWhoseMoveIsBrokenOff(t *testing.T) {
	t.Parallel()
	isHeld := func(m *slotMoves, key string) bool {
		return strings.Contains(key, m.held.Name) && !strings.Contains(key, m.too.Name)
	}
	for name, c := range map[string]struct {
		gone func(m *slotMoves, key string) bool
		meet func(t *testing.T, m *slotMoves) // somebody asks while the slot is half moved
	}{
		"a lock and the marker": {func(m *slotMoves, key string) bool { return isMarker(key) || isHeld(m, key) }, nil},
		"a lock, and somebody has asked for it": {isHeld, func(t *testing.T, m *slotMoves) {
			m.nobodyWithin(t, "when the slot is half moved", 200*time.Millisecond)
		}},
		"a lock, and its holder has renewed it": {isHeld, func(t *testing.T, m *slotMoves) {
			if err := renews(t.Context(), m.holder, hold(m.held), slotMaxTTL); err == nil {
				m.ends = time.Now().Add(slotMaxTTL)
			}
		}},
		"all": {func(*slotMoves, string) bool { return true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSlotMoves(t)
			m.move(t, m.start(t), func(key string) bool { return c.gone(m, key) })
			if c.meet != nil {
				c.meet(t, m)
			}
			m.breakOff(t)
			m.nobody(t, "after the move was broken off")
			m.closed(t, "after the move was broken off")
		})
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
