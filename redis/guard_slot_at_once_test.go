package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// skipUnlessMovedAtOnce skips the test unless the servers move a slot as a whole. make matrix runs it on Valkey 9.
func skipUnlessMovedAtOnce(t *testing.T) {
	t.Helper()
	knows, err := redisserver.MovesAtOnce()
	needed.Started(t, err, redisserver.ErrMissing)
	if !knows {
		t.Skip("the servers do not move a slot at once (CLUSTER MIGRATESLOTS): Valkey does from version 9 on, on " +
			"which make matrix runs this")
	}
}

// A slot that is moved at once keeps its holders and its waiter. What is free there is granted when an operator says
// that nothing was lost, as after any other move.
func TestSlotThatIsMovedAtOnce(t *testing.T) {
	t.Parallel()
	skipUnlessMovedAtOnce(t)
	m := newSlotMoves(t)
	token := mustTake(t, m.holder, m.held).Token // once more, for its token
	waiter := mustJoin(t, m.second, lasting(m.held.Name, slotMaxTTL))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := make(chan grant, 1)
	go func() {
		g, err := takeDespiteErrors(ctx, m.second, waiter)
		got <- grant{g, err, time.Now()}
	}()
	must(t, m.MoveAtOnce(m.slot, m.to))
	retryUntilAnswered(t, "the renewal after the slot was moved",
		func() error { return renewOne(ctx, m.holder, hold(m.held), slotMaxTTL) })
	m.checkNotGranted(t, "after the slot was moved")
	m.checkClosed(t, "after the slot was moved")
	select {
	case g := <-got:
		t.Fatalf("the waiter was granted token %d, %v while the lock was held", g.Token, g.err)
	default:
	}
	_, err := m.holder.OpenNow(t.Context(), "a test: nothing was lost")
	must(t, err)
	retryUntilAnswered(t, "the release",
		func() error { return m.holder.Release(ctx, driver.Release{Hold: hold(m.held)}) })
	if g := granted(t, got); g.Token <= token {
		t.Errorf("token %d follows %d", g.Token, token)
	}
}

// What a server that was just started may have lost is not granted by another server to which its slot is moved at
// once.
func TestSlotThatIsMovedAtOnceOutOfQuarantine(t *testing.T) {
	t.Parallel()
	skipUnlessMovedAtOnce(t)
	m := newSlotMoves(t)
	restart(t, m.from)
	must(t, m.AwaitOK())
	m.checkNotGranted(t, "after the restart")
	must(t, m.MoveAtOnce(m.slot, m.to))
	m.checkNotGranted(t, "after the slot was moved")
	m.checkClosed(t, "after the slot was moved")
}
