// Package stage is what a case needs of the world in which it is played: time, clients that lock, a counter, and things that go
// wrong. There are two worlds, one in virtual time and one of real servers, and each case is told once for both.
package stage

import (
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// Setup says what a world is to be like.
type Setup struct {
	// Servers is how many independent servers keep the lock: a client holds it if most of them say so.
	Servers int
	// Replica: the server has a replica, which takes its place when it is gone, and which lacks the last lock.
	Replica bool
	// Leasehold: clients lock with leasehold, and otherwise by the recipe.
	Leasehold bool
	Recipe    Recipe
	// Guarded: servers that have come back grant nothing for as long as the longest lease.
	Guarded bool
	// Fenced: clients send their token along, and the counter refuses those that are older than the newest it has seen.
	Fenced bool
}

// Recipe is a way to lock with a few commands of one's own.
type Recipe struct {
	// NoExpiry: SETNX, without an end.
	NoExpiry bool
	// PlainDelete: DEL, whoever's lock it is. Otherwise a script compares and deletes.
	PlainDelete bool
}

// Moment is something that others can wait for. It comes once, and stays.
type Moment string

// At is the moment at which somebody first does something, as in At("B", Reads).
func At(who, does string) Moment { return Moment(who + " " + does) }

// What clients do, for At.
const (
	Asks   = "asks" // its request has reached the servers, and the answer is under way
	Holds  = "holds"
	Reads  = "reads"
	Writes = "writes"
)

// World is where a case is played. Its methods are for the functions that Go has begun.
type World interface {
	// TTL is how long leases last. All other times of a case are parts of it.
	TTL() time.Duration
	// Tape is what everything is recorded on.
	Tape() *tape.Tape

	// Go begins something beside all others. The play is over when all that was begun has ended.
	Go(f func())
	// Sleep lets time pass.
	Sleep(d time.Duration)
	// Fire lets a moment come.
	Fire(m Moment)
	// Await waits until one of some moments has come, and returns the first of them that has. After so long it gives up
	// and returns "".
	Await(most time.Duration, any ...Moment) Moment

	// Client brings up a client. All of them are brought up before anything else.
	Client(name string) Client

	// Kill ends a server, and Return brings it back, or its replica in its place, without the lock.
	Kill(server int)
	Return(server int)
	// JumpClock sets the clock of a server forward by more than a lease.
	JumpClock(server int)
}

// Client is what one client can do, and what can be done to it.
type Client interface {
	// Lock waits for the lock. It gives up, and reports false, after so long that it would wait for ever.
	Lock() (Lease, bool)
	// Read reads the counter. It reports false if the token is refused.
	Read(token uint64) (value int, ok bool)
	// Write sets the counter. It reports false if the token is refused.
	Write(token uint64, value int) (ok bool)

	// Stop lets the client stand still between two steps, with all that it does in the background, and Continue lets it go on.
	Stop()
	Continue()
	// StopWhenAsked lets it stand still as soon as its next request for the lock has been served, and before it has the
	// answer. The moment is At(name, Asks).
	StopWhenAsked()
	// Die ends it, without a last word.
	Die()
	// Cut lets nothing come through between the client and some servers.
	Cut(servers ...int)
}

// Lease is a lock that a client believes to hold.
type Lease interface {
	// Token is the fencing token, or 0 if there is none.
	Token() uint64
	// Over reports whether the lease is over, as far as the client can tell.
	Over() bool
	// Lost is the moment at which the client is told, without asking, that the lease is over. It may never come.
	Lost() Moment
	// Release lets go, and says in a few words what came of it if that is remarkable.
	Release() (remark string)
}

// Forever is longer than any play.
const Forever = 24 * time.Hour
