package redis

import (
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// gate is what was last read of a marker: whether leases may be granted in what it guards. That is a server, or in a Cluster a slot: what a server may
// have lost, or may never have been given, moves along with the slot.
//
// In a Cluster it only saves questions. Whether a slot is open is looked at by each script that grants, in the slot itself: it may have been away and come
// back behind the client's back.
type gate struct {
	on     *server
	looked driver.Instant
	after  time.Duration // from looked to the moment that grants open; 0 if they are
	unseen bool          // there was no marker: nobody has seen the server in use
}

// newGate is the gate of a marker that was read between two moments.
func newGate(on *server, asked driver.Instant, left time.Duration, state string) *gate {
	g := &gate{on: on, looked: asked, unseen: state == "new"}
	if left > 0 {
		g.after = left + driver.Now().Since(asked) + left/100
	}
	return g
}

// closedFor returns for how long no lease may be granted.
func (g *gate) closedFor() time.Duration {
	if g == nil || g.after == 0 {
		return 0
	}
	return max(g.after-driver.Now().Since(g.looked), 0)
}

// reason is why nothing is granted.
func (g *gate) reason() *ClosedError {
	return &ClosedError{Open: time.Now().Add(g.closedFor()), Unseen: g.unseen}
}

// old reports whether somebody may have opened it meanwhile.
func (g *gate) old() bool { return driver.Now().Since(g.looked) >= verifyEvery }

// gate returns what is known of the gate of names on the server that is thought to keep them, or nil.
func (p *place) gate(n names, on *server) *gate {
	if !p.clustered() {
		return on.gate.Load()
	}
	if g := (*p.gates.Load())[n.slot()].Load(); g != nil && g.on == on {
		return g
	}
	return nil
}

// put notes what was read.
func (p *place) put(n names, g *gate) {
	if !p.clustered() {
		g.on.gate.Store(g)
		return
	}
	(*p.gates.Load())[n.slot()].Store(g)
}
