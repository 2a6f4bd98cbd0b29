package driver

import (
	"fmt"
	"time"
)

// MaxRemovals is the number of removals that an engine keeps.
const MaxRemovals = 1000

// Removal is the record of a lock that an operator took away from its holder, or tried to.
type Removal struct {
	// ID is unique, printable ASCII.
	ID string
	// At is the time of the removal by the operator's clock, in UTC and to the microsecond.
	At time.Time
	Key
	// Token is the holder's token: 1 to MaxToken.
	Token uint64
	// Holder is the public text about the holder, as far as it is known.
	Holder string
	// By says who took the lock away.
	By string
	// Why is the reason.
	Why string
	// Outcome says whether it worked.
	Outcome Outcome
}

// Outcome is the result of a removal.
type Outcome uint8

const (
	// Asked: the removal is about to happen, or whoever began it has ended or got no answer.
	Asked Outcome = iota + 1
	// Removed: the lock was taken away.
	Removed
	// Gone: nobody held the lock with that token any more. Nothing was changed.
	Gone
	// Refused: the lock was not removed, for another reason.
	Refused
)

// String returns "asked", "removed", "gone" or "refused".
func (o Outcome) String() string {
	switch o {
	case Asked:
		return "asked"
	case Removed:
		return "removed"
	case Gone:
		return "gone"
	case Refused:
		return "refused"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}
