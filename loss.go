package leasehold

// Loss is how a lease was lost.
type Loss uint8

// The ways to lose a lease.
const (
	// LossRefused: the engine said that it is not held any more. It was released by force, or has expired there, or the engine has forgotten it.
	LossRefused Loss = iota + 1
	// LossDeadline: no renewal was confirmed before the deadline. The engine did not answer, or the process or its machine stood still.
	LossDeadline
	// LossDropped: all leases were dropped without Release, so that it was not renewed. That is a mistake of the program.
	LossDropped
	// LossNotRenewed: it has ended as NoRenew wants it.
	LossNotRenewed
	// LossMaxHold: it was held for as long as MaxHold allows.
	LossMaxHold
)

// String returns one word for each way: refused, deadline, dropped, not_renewed or max_hold.
func (l Loss) String() string {
	switch l {
	case LossRefused:
		return "refused"
	case LossDeadline:
		return "deadline"
	case LossDropped:
		return "dropped"
	case LossNotRenewed:
		return "not_renewed"
	case LossMaxHold:
		return "max_hold"
	}
	return "unknown"
}

// cause is what the lease's context tells.
func (l Loss) cause() error {
	if l == LossMaxHold {
		return ErrMaxHold
	}
	return ErrLost
}

// reason says it in a sentence.
func (l Loss) reason() string {
	switch l {
	case LossRefused:
		return "the engine says that it is not held any more"
	case LossDropped:
		return "all leases were dropped without release"
	case LossNotRenewed:
		return "the lease has ended and is not renewed"
	case LossMaxHold:
		return "held for the longest time allowed"
	default:
		return "the engine did not confirm a renewal before the deadline"
	}
}
