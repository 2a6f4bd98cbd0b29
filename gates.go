package leasehold

import (
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// gates has a gate for each server of the engine, as far as the engine tells them apart. One that is frozen leaves the renewals of its leases
// and the takes of its names without an answer, and takes on the others have nothing to do with that.
type gates struct {
	router driver.Router // nil if there is one gate for all
	one    gate
	each   *[maxGates]gate

	// process is until when the process itself counts as late with its renewals, whichever server they are for.
	process atomic.Int64
}

// maxGates bounds how many gates there are. Servers beyond that share them.
const maxGates = 64

func (gs *gates) init(engine driver.Engine) {
	gs.one.process = &gs.process
	router, several := engine.(driver.Router)
	if !several {
		return
	}
	gs.router, gs.each = router, new([maxGates]gate)
	for i := range gs.each {
		gs.each[i].process = &gs.process
	}
}

// of is the gate for a key.
func (gs *gates) of(k driver.Key) *gate {
	if gs.router == nil {
		return &gs.one
	}
	return &gs.each[gs.router.Route(k)%maxGates]
}

// late notes that nobody has come to renewals in time, and counts the process as late until then.
func (gs *gates) late(until time.Duration) {
	for {
		before := gs.process.Load()
		if int64(until) <= before || gs.process.CompareAndSwap(before, int64(until)) {
			return
		}
	}
}
