package postgres

import (
	"github.com/leasehold-go/leasehold/driver"
)

// Wanted implements [driver.Wanter]. It is also true of a name whose lease in this process was guarded: a transaction
// that guards a lease must have ended before another owner holds the name, even if that owner is in this process.
func (e *Engine) Wanted(k driver.Key) bool {
	return e.wanted.Has(k) || e.guarded.has(k.Name) || e.waiters.hasKey(k)
}
