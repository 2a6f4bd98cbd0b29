package leasehold

// Loss is how a lease was lost.
type Loss uint8

// The ways to lose a lease.
const (
	// LossRefused: the engine said that the lease is no longer held. It was released by force, has expired there, or
	// the engine has forgotten it.
	LossRefused Loss = iota + 1
	// LossDeadline: no renewal was confirmed before the deadline. The engine did not answer, or the process or its
	// machine was stopped.
	LossDeadline
	// LossDropped: all leases were dropped without Release, and so were not renewed. That is a bug in the program.
	LossDropped
	// LossNotRenewed: the lease has ended as NoRenew says.
	LossNotRenewed
	// LossMaxHold: the lease was held for as long as MaxHold allows.
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

// cause returns the cause of the lease's context.
func (l Loss) cause() error {
	if l == LossMaxHold {
		return ErrMaxHold
	}
	return ErrLost
}

// reason returns the loss as a sentence.
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
