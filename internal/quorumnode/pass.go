package quorumnode

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Passer is a node on which a holder can give a name to the first of the queue, without a moment in which it is free.
// The quorum first has most nodes pass the name to a new owner, which nobody knows yet, and then has the arbiter tell
// the waiter that it holds as that owner.
type Passer interface {
	// StartPass passes the name from its holder to another owner, if nobody waits for it on this node, or takes it for
	// that owner if it is free. passed says that this owner holds. Then err says whether the holder has held before:
	// nil, or ErrNotHeld. Otherwise nothing was done, unless err is one that does not say that it had no effect; it is
	// ErrHeld if others wait on this node. When done is called is as in [Starter].
	StartPass(ctx context.Context, p Pass, done func(passed bool, err error))

	// StartHandOver passes the name to the first of the queue, which holds as the new owner from then on, and tells it
	// so. It does nothing unless that is the waiter that the holder was told of, and it receives messages.
	StartHandOver(ctx context.Context, h HandOver, done func(passed bool, err error))

	// WaitForGrant is WaitFrom, which says more.
	WaitForGrant(ctx context.Context, r Request) (Grant, error)

	// OnLeftGrant sets what is called when a waiter of this engine was passed a name as an owner, but has given up.
	// It is called before all other methods. The function must not block.
	OnLeftGrant(release func(k driver.Key, owner string))
}

// Pass is what [Passer.StartPass] is given.
type Pass struct {
	Hold  driver.Hold // of the holder
	Place string      // of the holder in a queue; empty stands for the owner
	To    Request     // the new owner, which gets exactly the token Floor, or nothing
}

// HandOver is what [Passer.StartHandOver] is given.
type HandOver struct {
	Pass
	Next  Next           // the waiter that the holder was told of
	Began driver.Instant // before the first pass was sent: the lease of the new owner counts from then
}

// Next is what a holder was told of the one who waits behind it.
type Next struct {
	Waiter string // who it is, in words of the node
	TTL    time.Duration
	Holder string

	// ServerMillis is the clock of the node when it said so, which was not later than Received.
	ServerMillis int64
	Received     driver.Instant
}

// Grant is the grant to a waiter.
type Grant struct {
	// Grant has an Owner if the name was passed to the waiter as that owner.
	driver.Grant
	// Agreed says that a majority of the nodes has granted the token to that owner. TTL and Start say for how long.
	Agreed bool
	// Polled says that the waiter has asked again while it waited, so that it may be in the queue once more.
	Polled bool
	Next   *Next // nil if it is not known who waits behind
}
