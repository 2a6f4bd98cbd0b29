// Package quorumnode says what the engine redlock needs of an engine that is one of its nodes, besides the contract of
// all engines.
package quorumnode

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Request is a request to one of several nodes, which shall all grant the same token.
type Request struct {
	driver.Request

	// Floor is the smallest token that may be granted, at most MaxToken; zero leaves it to the engine.
	Floor uint64
}

// Node is an engine that can be one of several nodes: it agrees on a token with the others.
type Node interface {
	// TakeFrom is Take, and WaitFrom is Wait, with a floor for the token.
	TakeFrom(ctx context.Context, r Request) (driver.Grant, error)
	WaitFrom(ctx context.Context, r Request) (driver.Grant, error)

	// Raise makes sure that no token up to Token+Tokens-1 is granted for the key any more, and that
	// the owner's grant has the tokens Token to Token+Tokens-1.
	//
	// It changes nothing and answers ErrNotHeld if the owner does not hold the key exclusively: an
	// owner whose lease has ended must not change what others hold. It answers the same if the
	// owner's token is larger than Token: Token may have been granted to others before.
	Raise(ctx context.Context, r Raise) error
}

// Raise is what [Node.Raise] is given.
type Raise struct {
	driver.Key
	Owner string
	// Token is not zero, and Tokens at least 1. The last of them is at most MaxToken.
	Token  uint64
	Tokens int
}

// Starter is an engine that accepts a request without a goroutine that waits for the answer, so that several nodes can
// be asked at the same time.
type Starter interface {
	// StartTake is TakeFrom, but passes the outcome to done.
	//
	// The context must have a deadline. done is called by then, or a little later; StartTake
	// ignores an earlier end of the context. done is called once, from any goroutine, perhaps
	// before StartTake returns. It must not block.
	StartTake(ctx context.Context, r Request, done func(driver.Grant, error))

	// StartRelease is Release in the same way.
	StartRelease(ctx context.Context, r driver.Release, done func(error))
}
