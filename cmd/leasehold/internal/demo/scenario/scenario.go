// Package scenario is what a case needs of its environment: time, clients that lock, a counter, and faults. There are
// two environments, one simulated in virtual time and one with real servers. Each case is written once for both.
package scenario

import (
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// Setup says what an environment must be like.
type Setup struct {
	// Servers is how many independent servers keep the lock. A client holds it if most of them say so.
	Servers int
	// Replica: the server has a replica, which takes over when the server is gone and lacks the last lock.
	Replica bool
	// Leasehold: clients lock with leasehold. Otherwise they use the naive lock.
	Leasehold bool
	Naive     NaiveOptions
	// Guarded: servers that come back grant nothing for as long as the longest lease.
	Guarded bool
	// Fenced: clients send their token along, and the counter refuses tokens older than the newest it has seen.
	Fenced bool
}

// NaiveOptions are variants of a lock of a few commands.
type NaiveOptions struct {
	// NoExpiry: SETNX, which never expires.
	NoExpiry bool
	// PlainDelete: DEL, whoever has the lock. Otherwise a script compares and deletes.
	PlainDelete bool
}

// Event is something to wait for. It happens once, and stays so.
type Event string

// EventOf returns the event that somebody does something for the first time, as in EventOf("B", Reads).
func EventOf(who, does string) Event { return Event(who + " " + does) }

// What clients do, for EventOf.
const (
	Asks   = "asks" // the servers have its request, and the answer is in flight
	Holds  = "holds"
	Reads  = "reads"
	Writes = "writes"
)

// Environment is where a case runs. Its methods are for functions started by Go.
type Environment interface {
	// TTL returns how long leases last. All other times of a case are fractions of it.
	TTL() time.Duration
	// Recorder returns the recorder of the run.
	Recorder() *timeline.Recorder

	// Go runs a function concurrently. The run is over when all these functions have ended.
	Go(f func())
	// Sleep waits.
	Sleep(d time.Duration)
	// Signal makes an event happen.
	Signal(m Event)
	// Await waits until one of the events has happened, and returns the first one in the list that has. After the time
	// most it returns "".
	Await(most time.Duration, any ...Event) Event

	// Client creates a client. All clients are created before anything else happens.
	Client(name string) Client

	// Kill kills a server. Return brings it, or its replica, back without the lock.
	Kill(server int)
	Return(server int)
	// JumpClock sets the clock of a server forward by more than a lease.
	JumpClock(server int)
}

// Client is what a client can do, and what can be done to it.
type Client interface {
	// Lock waits for the lock. It reports false after a time that stands for ever.
	Lock() (Lease, bool)
	// Read reads the counter. It reports false if the token is refused.
	Read(token uint64) (value int, ok bool)
	// Write sets the counter. It reports false if the token is refused.
	Write(token uint64, value int) (ok bool)

	// Stop stops the client between two steps, including everything it does in the background. Continue lets it go on.
	Stop()
	Continue()
	// StopAfterRequest stops the client as soon as the servers have its next request for the lock, before it has the
	// answer. The event is EventOf(name, Asks).
	StopAfterRequest()
	// Die ends the client, which sends nothing more.
	Die()
	// Cut breaks the network between the client and some servers.
	Cut(servers ...int)
}

// Lease is a lock that a client believes to hold.
type Lease interface {
	// Token is the fencing token, or 0 if there is none.
	Token() uint64
	// IsOver reports whether the lease is over, as far as the client knows.
	IsOver() bool
	// LostEvent returns the event that the client is told, without asking, that the lease is over. It may never happen.
	LostEvent() Event
	// Release releases the lock. If something remarkable came of it, the remark says so in a few words.
	Release() (remark string)
}

// Forever is longer than any run.
const Forever = 24 * time.Hour
