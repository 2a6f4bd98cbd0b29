// Package lib holds the lock libraries that are compared, a file each: how they are configured, and how they lock.
package lib

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/place"
	"github.com/leasehold-go/leasehold/bench/internal/wire"
)

// Library is a lock library, configured in one way.
type Library struct {
	// Name is what reports call it.
	Name string
	// Module is the path of the module whose version is reported.
	Module string
	// On is the kind of place that it works on.
	On place.Kind
	// Ours: the run is about it, and fails if it hangs. Others are left out then.
	Ours bool
	// Config says how it is configured, and why where that is not the default.
	Config string
	// Open returns a session of its own: one client with its own connections, as a process has.
	Open func(At) (Session, error)
}

// At is where and how a session works.
type At struct {
	// Addrs are host:port of the servers: one, or as many as a place has.
	Addrs []string
	// Sent counts the commands of the session, unless it is nil.
	Sent *wire.Counter
	// TTL is how long leases last. Zero leaves it to the library's default.
	TTL time.Duration
}

// addr is the only address.
func (a At) addr() string { return a.Addrs[0] }

// Session locks. Many goroutines may use it at the same time.
type Session interface {
	// Lock waits until name is locked or ctx ends.
	Lock(ctx context.Context, name string) (Held, error)
	// Close ends the connections.
	Close() error
}

// Preparer is a Session that is to be told how many goroutines are going to use it at the same time.
type Preparer interface {
	Prepare(goroutines int) error
}

// Held is a lock that was granted.
type Held struct {
	// Token is the fencing token, or zero if the library has none.
	Token uint64
	// Release unlocks. It returns an error if the lock was no longer held, or may still be.
	Release func() error
}
