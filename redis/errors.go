package redis

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

var (
	errClosed       = driver.Permanent(errors.New("the redis engine has been closed: open another one"))
	errTokensUsedUp = driver.Permanent(errors.New("the name has used up all tokens below 2^53: " +
		"delete its token key once nobody compares its tokens with old ones"))
	errReply = errors.New("the server's answer is none that the script gives: " +
		"look for a proxy between the server and this program")
	errScripts = driver.NoEffect(errors.New("the server forgets the scripts as soon as they are loaded: " +
		"it is being replaced, or its slots are being moved; try again"))
	errMoving = driver.NoEffect(errors.New("the servers of the Cluster redirect to each other: " +
		"the slot is being moved; try again"))
)

// ClosedError says that no lease is granted for a while: the server has no record of earlier use, or was restarted or
// promoted; in a Cluster also, the slot of the name was moved to another master, or is being moved.
type ClosedError struct {
	// Open is roughly when leases are granted again.
	Open time.Time
	// Unseen is set if the server, or in a Cluster the slot, has no record of earlier use: it is new, or lost its data,
	// as in a restart without a disk. Leases that it granted before, or that a server granted which it replaces, may
	// still run. If nothing can be locked there, [Engine.OpenNow] opens it, and so does the command leasehold open.
	Unseen bool
}

// Error implements error.
func (e *ClosedError) Error() string {
	left := max(time.Until(e.Open), 0).Round(time.Second)
	until := fmt.Sprintf("for another %s (until %s)", left, e.Open.Format(time.RFC3339))
	if e.Unseen {
		return "grants are closed " + until + ": this server has no record of earlier use: " +
			"it is new, or lost its data; `leasehold open` opens it, which is right only if nothing can be locked there"
	}
	return "grants are closed " + until + ": the server was started or promoted, " +
		"or the slot of the name was moved, and it may lack leases " +
		"that still run; `leasehold open` opens it if none was lost"
}

// noEffectReplies are the first words of replies with which a server refuses a request before it has changed anything.
// A later attempt may succeed.
var noEffectReplies = []string{
	"LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY", "NOREPLICAS",
	"BUSY", "MISCONF", "OOM", "NOSCRIPT", "MOVED", "CROSSSLOT",
}

// permanentReplies are the first words of replies that every attempt gets, and what to do about them.
var permanentReplies = map[string]string{
	"NOAUTH":    "give a password",
	"WRONGPASS": "give the right user and password",
	"WRONGTYPE": "the key holds something of another program; use another prefix or name",
	"DAMAGED":   "another program has written into what belongs to the name; delete its keys, or use another name",
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

// noEffect marks the error of a request that had no effect, unless it is marked already: it may be a permanent one.
func noEffect(err error) error {
	if driver.HadNoEffect(err) {
		return err
	}
	return driver.NoEffect(err)
}

// isMoving reports whether an error comes from a slot that is moving to another server of the Cluster. Keys of one name
// may then be on two servers, and new keys on neither.
func isMoving(err error) bool {
	return errors.Is(err, errMoving) || redis.HasErrorPrefix(err, "TRYAGAIN") || redis.HasErrorPrefix(err, "ASK ")
}

// isDenialText reports whether an error reply says that the user lacks a right.
func isDenialText(text string) bool {
	return strings.HasPrefix(text, "NOPERM ") ||
		strings.HasPrefix(text, "The user executing the script can't ") ||
		strings.HasPrefix(text, "ACL failure in script")
}

// explainError turns an error of the client into one that the contract of engines asks for. It marks errors that
// certainly had no effect. A network error is not marked: the client may have sent the request before.
func explainError(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	reply, replied := errors.AsType[redis.Error](err)
	err = fmt.Errorf("redis: %w", err)
	if !replied {
		return err
	}
	text := strings.TrimPrefix(reply.Error(), "ERR ")
	if isDenialText(text) {
		return newRightsError(reply)
	}
	for word, fix := range permanentReplies {
		if strings.HasPrefix(text, word+" ") {
			return driver.Permanent(fmt.Errorf("%w: %s", err, fix))
		}
	}
	if strings.HasPrefix(text, "unknown command") {
		return driver.Permanent(fmt.Errorf("%w: the engine needs it; "+
			"see the smallest rights in docs/engines/redis.md", err))
	}
	if strings.Contains(text, "EXHAUSTED") {
		return errTokensUsedUp
	}
	if isMoving(err) {
		return driver.NoEffect(fmt.Errorf("%w: the slot of the name is being moved to another server; try again", err))
	}
	for _, word := range noEffectReplies {
		if strings.HasPrefix(text, word) {
			return driver.NoEffect(err)
		}
	}
	return err
}
