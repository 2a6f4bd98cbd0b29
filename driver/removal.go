package driver

import (
	"context"
	"fmt"
	"time"
)

// Recorder is what an engine with the ability Records implements too: it keeps a record of locks that were taken away from their holders. The core
// writes a record before it calls ForceRelease, and again, with the outcome, after it.
type Recorder interface {
	// Record keeps a removal. One with the ID of another takes its place. The latest MaxRemovals are kept, by Removal.At and in whichever order they
	// are written, for as long as the engine keeps anything.
	Record(ctx context.Context, r Removal) error

	// Records returns the latest removals, the newest first, and at most limit; zero means MaxRemovals.
	Records(ctx context.Context, limit int) ([]Removal, error)
}

// MaxRemovals is how many removals an engine keeps.
const MaxRemovals = 1000

// Removal is the record of a lock that was taken away from its holder, or was to be.
type Removal struct {
	// ID is unique, printable ASCII.
	ID string
	// At is when, by the clock of the one who did it, in UTC and to the microsecond.
	At time.Time
	Key
	// Token is the holder's: 1 to MaxToken.
	Token uint64
	// Holder is the public text about the holder, as far as it is known.
	Holder string
	// By says who took it away.
	By string
	// Why says what for.
	Why string
	// Outcome is what has become of it.
	Outcome Outcome
}

// Outcome is what has become of a removal.
type Outcome uint8

const (
	// Asked: it is about to be removed, or the one who was about to do it is gone, or got no answer.
	Asked Outcome = iota + 1
	// Removed: the lock was taken away.
	Removed
	// Gone: nobody held the lock with that token any more. Nothing was changed.
	Gone
	// Refused: it was not removed, for another reason.
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
