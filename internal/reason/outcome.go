package reason

import (
	"errors"

	"github.com/leasehold-go/leasehold"
)

// Outcome is how a renewal or a release ended.
type Outcome int

const (
	OK      Outcome = iota // confirmed by the engine
	Lost                   // the engine says that the lease had ended
	Unknown                // no answer, so it may have had an effect or not

	Outcomes = Unknown + 1 // how many there are
)

var outcomeWords = [Outcomes]string{"ok", "lost", "unknown"}

// String returns the word for the outcome.
func (o Outcome) String() string { return outcomeWords[o] }

// OutcomeOf returns the outcome for the error of a renewal or a release, or for nil.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, leasehold.ErrLost):
		return Lost
	}
	return Unknown
}
