package driver

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Kind is the kind of thing that a name stands for. Equal names of different kinds have nothing to
// do with each other.
type Kind uint8

const (
	// Lock is a mutual exclusion lock, with a shared mode where the engine has one. Mutex, RWMutex and Election are
	// of this kind.
	Lock Kind = iota + 1
	// Semaphore is a number of permits.
	Semaphore
	// Latch is a count that goes down to zero.
	Latch
)

// Kinds lists all kinds, in the order of a listing.
var Kinds = [...]Kind{Lock, Semaphore, Latch}

// String returns "lock", "semaphore" or "latch".
func (k Kind) String() string {
	switch k {
	case Lock:
		return "lock"
	case Semaphore:
		return "semaphore"
	case Latch:
		return "latch"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Mode says whom a holder of a lock excludes.
type Mode uint8

const (
	// Exclusive holders exclude everybody.
	Exclusive Mode = iota
	// Shared holders exclude exclusive ones only.
	Shared
)

// String returns "exclusive" or "shared".
func (m Mode) String() string {
	if m == Shared {
		return "shared"
	}
	return "exclusive"
}

// Key names one thing on an engine. The core has checked the name: valid UTF-8,
// 1 to 1024 bytes, no NUL.
type Key struct {
	Kind Kind
	Name string
}

// Compare orders keys as listings do: by kind, and then by name.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Kind, other.Kind), strings.Compare(k.Name, other.Name))
}

// Request asks for a lock or for permits.
type Request struct {
	Key

	// Owner is the secret that stands for this attempt: unique, unguessable, printable
	// ASCII. It must not appear in logs, errors or listings. No release has named it before.
	Owner string

	// Place is the same for all owners that one call uses one after the other, and for nobody else.
	// An engine that marks errors with Spent keeps a waiter's place in its queue under it; other
	// engines can ignore it. Empty stands for Owner. Like Owner, it is a secret.
	Place string

	// Mode is Shared only for kind Lock on engines with that ability.
	Mode Mode

	// Size and Weight describe a semaphore: the request is granted only if the weights of the
	// holders plus Weight are at most Size. Both are 1 for locks.
	Size, Weight int

	// TTL is how long the lease lasts. The core has checked it against MaxTTL.
	TTL time.Duration

	// Tokens is how many tokens in a row to reserve, at least 1. The core gives the later ones to
	// callers of the same process, to whom it hands the lock over.
	Tokens int

	// Join asks Take to queue the owner if the request is refused.
	Join bool

	// MaxWaiters is how many owners may wait for the key: a Take with Join that would add one more
	// answers ErrTooManyWaiters. An owner with a place keeps it, so the limit does not affect owners that
	// wait already, nor Wait. Zero means no limit. Only engines with the ability Waiters use it.
	MaxWaiters int

	// Recall, if set, says that the core may keep a lock although nobody uses it, and lets go of it
	// when it is asked to. If the engine says Grant.Recallable, it calls Recall, from any goroutine,
	// whenever somebody else asks for the name, until the owner is released or does not hold any more.
	// A call too many does no harm; one too few costs the other time. Recall reports whether the lock is
	// in use. If not, it is being released (on a Local engine it has been). Recall does not block, and may
	// call Release, so no mutex of the engine may be locked. Only for engines that say Recalls.
	Recall func() (inUse bool)

	// Probe says that the caller wants to wait only until it knows whether the holder uses the lock. The
	// engine lets Wait return ErrHeld as soon as a Recall has reported that. Only for engines that say
	// Recalls, and never set before a Take was answered with HeldError.Lingers.
	Probe bool

	// Holder is a public text about the holder for listings, such as "host:pid program".
	Holder string
}

// Grant is what an owner is given.
type Grant struct {
	// Token is the first token of the grant: larger than every token of an earlier
	// grant of this key, below 2^53, never zero.
	Token uint64

	// Tokens is how many tokens, counting up from Token, belong to this grant: at least 1 and at
	// most Request.Tokens. Zero means 1.
	Tokens int

	// Owner is the owner that holds, if that is not Request.Owner: an engine that needs a fresh
	// owner for each of its own attempts names here the one that has succeeded. The core renews and
	// releases it under this owner. The engine takes care of all the others, including
	// Request.Owner. Empty means Request.Owner.
	Owner string

	// TTL is how long the lease lasts counted from Start, if that differs from Request.TTL: a
	// waiter that is granted the lock by another's release may first get a short lease, which the
	// core renews when a third of it has passed. Zero means Request.TTL.
	TTL time.Duration

	// Recallable says that the engine will call Request.Recall.
	Recallable bool

	// Start is a moment that is certainly not later than the one from which the engine counts TTL:
	// a reading from before the answered request was sent. Take may leave it zero; the core then
	// uses the moment before its call.
	Start Instant
}

// Hold identifies what an owner holds.
type Hold struct {
	Key
	Owner string
	// Token is the first token of the grant, or zero if the core never learned it.
	Token uint64
	// Mode is the requested mode.
	Mode Mode
}

// Renewal is one item of a batch given to [Engine.Renew].
type Renewal struct {
	Hold
	// TTL is how long the lease lasts from now, at least: a renewal never shortens a lease.
	TTL time.Duration
}

// Release is what [Engine.Release] is given.
type Release struct {
	Hold
	// Place is Request.Place. If the owner waits there, it leaves the queue; if another owner of
	// the same call does, that one stays. Empty stands for Owner.
	Place string
	// Keep leaves the lock taken for this long from now, whatever was left of its lease, and then
	// frees it. Zero releases at once. In either case the owner no longer holds it.
	Keep time.Duration
}

// MaxToken is the largest token: the largest integer that a float64, and so JSON in a browser,
// holds exactly.
const MaxToken = 1<<53 - 1
