package redis

import (
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/replicas"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

var (
	errEngineClosed = driver.Permanent(errors.New("the redis engine has been closed: open another one"))
	errTokensUsedUp = driver.Permanent(errors.New("the name has used up all tokens below 2^53: " +
		"delete its token key once nobody compares its tokens with old ones"))
	errReply = errors.New("the server's answer is none that the script gives: " +
		"look for a proxy between the server and this program")
	errScripts = driver.NoEffect(errors.New("the server forgets the scripts as soon as they are loaded: " +
		"it is being replaced, or its slots are being moved; try again"))
	errMoving = driver.NoEffect(errors.New("the servers of the Cluster redirect to each other: " +
		"the slot is being moved; try again"))
)

// ClosedError says that no lease is granted for a while: the server has no record of earlier use (Unseen), or was
// restarted or promoted; in a Cluster also, the slot of the name was moved to another master, or is being moved. If
// nothing can be locked there, or no lock was lost, [Engine.OpenNow] opens it, and so does the command leasehold open.
type ClosedError = driver.GrantsClosedError

// newClosedError returns the error for a state of the marker.
func newClosedError(open time.Time, state string, clustered bool) *ClosedError {
	e := &ClosedError{Open: open, Fix: "`leasehold open` opens it at once, if no lock was lost"}
	switch {
	case state == stateNew:
		e.Unseen = true
		e.Reason = "this server has no record of earlier use: it is new, or lost its data"
		e.Fix = "`leasehold open` opens it at once, if nothing can be locked there; for tests, guard=off in the URL " +
			"(WithoutFailoverGuard) turns this off"
	case state == stateMoving:
		e.Reason = "the slot of the name is being moved to another server"
	case clustered:
		e.Reason = "the server was restarted or promoted, or the slot of the name was moved to it"
	default:
		e.Reason = "the server was restarted or promoted"
	}
	return e
}

// isDamaged reports whether another program has written into the keys of a name: they have other types, or values that
// a script cannot handle. Every request finds that, until somebody deletes the keys.
func isDamaged(err error) bool {
	for _, begin := range []string{"WRONGTYPE", "DAMAGED", "user_script:"} {
		if redis.HasErrorPrefix(err, begin) {
			return true
		}
	}
	return false
}

// isMoving reports whether an error comes from a slot that is moving to another server of the Cluster. Keys of one name
// may then be on two servers, and new keys on neither.
func isMoving(err error) bool { return errors.Is(err, errMoving) || reply.IsMoving(err) }

// isShortfall reports whether a script ran, but too few replicas have confirmed it.
func isShortfall(err error) bool {
	_, short := errors.AsType[*replicas.ShortfallError](err)
	return short
}

// replies explains what servers reply to this engine.
var replies = reply.Engine{Name: "redis", Page: "docs/engines/redis.md", Unexpected: errReply}

// explainError turns an error of the client into one that the contract of engines asks for. It marks errors that
// certainly had no effect. A network error is not marked: the client may have sent the request before. A ShortfallError
// is the engine's own, and says enough.
func explainError(err error) error {
	if isShortfall(err) {
		return err
	}
	if answer, replied := errors.AsType[redis.Error](err); replied && !driver.HadNoEffect(err) &&
		strings.Contains(answer.Error(), "EXHAUSTED") {
		return errTokensUsedUp
	}
	return replies.Explain(err)
}
