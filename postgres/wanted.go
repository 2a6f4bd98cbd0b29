package postgres

import (
	"github.com/leasehold-go/leasehold/driver"
)

// Wanted implements [driver.Wanter]. It is also true of a name that is held by this process and was guarded: what is done in a transaction
// that guards a lease must be over before another holds it, also if that one is in this process.
func (e *Engine) Wanted(k driver.Key) bool {
	return e.wanted.Has(k) || e.guarded.has(k.Name) || e.waiters.want(k)
}
