// Package lib holds the lock libraries that are compared, one per file: how they are configured,
// and how they lock.
package lib

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/bench/internal/wire"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// Library is a lock library, configured in one way.
type Library struct {
	// Name is the library's name in reports.
	Name string
	// Module is the path of the module whose version is reported. Version is that of what is no module of Go.
	Module, Version string
	// On is the kind of server that it uses.
	On servers.Kind
	// Ours: the benchmark is about this library, and fails if it hangs. Other libraries are left
	// out then.
	Ours bool
	// Config describes the configuration, with reasons where it differs from the default.
	Config string
	// Open returns a new session: one client with its own connections, as a process has.
	Open func(Config) (Session, error)
	// Beside is another way to open sessions: where several contend, half of them are opened like this. Nil means none.
	Beside func(Config) (Session, error)
}

// Missing reports whether a session could not be opened because a program is not installed that the library needs.
func Missing(err error) bool { return errors.Is(err, javaside.ErrMissing) }

// Config configures a session.
type Config struct {
	// Addrs are the host:port of the servers: one, or several.
	Addrs []string
	// Sent counts the commands of the session, unless it is nil.
	Sent *wire.Counter
	// Observer is an observer of leasehold. Other libraries have none.
	Observer any
	// TTL is how long leases last. Zero leaves it to the library's default.
	TTL time.Duration
	// Patience is how long this library waits for one of several nodes. Zero keeps the default,
	// which is what is measured; tests on a busy machine need more.
	Patience time.Duration
}

// firstAddr is the only address.
func (a Config) firstAddr() string { return a.Addrs[0] }

// Session locks names. It is safe for concurrent use.
type Session interface {
	// Lock waits until name is locked or ctx ends.
	Lock(ctx context.Context, name string) (Held, error)
	// Close ends the connections.
	Close() error
}

// Trier is a Session that can also ask without waiting.
type Trier interface {
	Session
	// TryLock locks name, or returns false if it is held.
	TryLock(ctx context.Context, name string) (held Held, granted bool, err error)
}

// Preparer is a Session that needs to know how many goroutines will use it at the same time.
type Preparer interface {
	Prepare(goroutines int) error
}

// Turner is a Session in a process of another language, which takes turns there: a pipe would slow them down.
type Turner interface {
	Session
	// Turns locks and unlocks a name again and again, and returns what it has measured. It ends with ctx, too: then it
	// is unfinished if it waited for one more turn.
	Turns(ctx context.Context, name string, t Turns) (turns []javaside.Turn, finished bool, err error)
	// ProcessorTime returns what the process has used so far, together with all other sessions in it.
	ProcessorTime() time.Duration
}

// Turns says how to take turns.
type Turns struct {
	For, Hold time.Duration
	// Register is the address of a register that is told of each hold, unless it is empty.
	Register string
}

// Held is a lock that was granted.
type Held struct {
	// Token is the fencing token, or zero if the library has none.
	Token uint64
	// Release unlocks. It returns an error if the lock was no longer held, or may still be.
	Release func() error
}
