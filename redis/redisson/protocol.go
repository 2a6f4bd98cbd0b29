package redisson

import (
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// call is one script with its keys and arguments. The first key is the name of the object.
type call struct {
	script *script
	keys   []string
	args   []any
}

// isRead reports whether the call only reads.
func (c call) isRead() bool {
	switch c.script {
	case lockStatus, fairStatus, readWriteStatus, permitsStatus, latchStatus, leakOf:
		return true
	}
	return false
}

// protocol is how one kind of Redisson's objects is locked: the calls that go to the server. Takes are answered with
// {1, last token, ...}; or {0, milliseconds that are left of the lease of others, and how soon to ask again if that is
// something else}; or {2, 0} if too many wait. The others but status are answered with 1 or 0.
type protocol interface {
	// take tries once to take what the request asks for. With join, a refused owner is in the queue, if there is one.
	take(name string, r driver.Request, join bool, publish string) call
	release(name string, r driver.Release, publish string) call
	renew(name string, r driver.Renewal) call
	downgrade(name string, h driver.Hold, publish string) call
	force(name string, token uint64, publish string) call
	// channel returns where a waiting owner is notified.
	channel(name, owner string) string
	// status reads who holds and waits, and readStatus reads the answer. It returns nobody if something else is stored
	// there.
	status(name string) call
	readStatus(answer any) (driver.Status, error)
}

// toMillis converts a duration for the scripts, rounded up.
func toMillis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// withoutNUL removes NUL bytes, at which the scripts would cut a text.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "") }

// fromMillis converts a time that another program may have set, so it may be too long for a duration.
func fromMillis(n int64) time.Duration { return time.Duration(min(n, 1<<43)) * time.Millisecond }
