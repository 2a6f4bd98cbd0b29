// Package lib holds the lock libraries that are compared, a file each: how they are configured, and how they lock.
package lib

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/wire"
)

// Library is a lock library, configured in one way.
type Library struct {
	// Name is what reports call it.
	Name string
	// Module is the path of the module whose version is reported.
	Module string
	// Config says how it is configured, and why where that is not the default.
	Config string
	// Open returns a session of its own: one client with its own connections, as a process has.
	Open func(At) (Session, error)
}

// At is where and how a session works.
type At struct {
	// Addr is host:port of the server.
	Addr string
	// Sent counts the commands of the session, unless it is nil.
	Sent *wire.Counter
	// TTL is how long leases last. Zero leaves it to the library's default.
	TTL time.Duration
}

// Session locks. Many goroutines may use it at the same time.
type Session interface {
	// Lock waits until name is locked or ctx ends.
	Lock(ctx context.Context, name string) (Held, error)
	// Close ends the connections.
	Close() error
}

// Held is a lock that was granted.
type Held struct {
	// Token is the fencing token, or zero if the library has none.
	Token uint64
	// Release unlocks. It returns an error if the lock was no longer held, or may still be.
	Release func() error
}
