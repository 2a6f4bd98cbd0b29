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
	errClosed  = driver.Permanent(errors.New("the redis engine has been closed: open another one"))
	errSpent   = driver.Permanent(errors.New("the name has used up all tokens below 2^53: delete its token key once nobody compares its tokens with old ones"))
	errReply   = errors.New("the server answered something that the script does not: look at what stands between it and this program")
	errScripts = driver.NoEffect(errors.New("the server knows the scripts no more as soon as they are loaded: it is being replaced, or its slots are being moved; try again"))
	errMoving  = driver.NoEffect(errors.New("one server of the Cluster names another, and that one the first: the slot is being moved; try again"))
)

// ClosedError is why no lease is granted for a while: on a server that nobody has seen in use, after a failover or a restart, and in a Cluster after the slot
// of the name was moved to another master, or was to be.
type ClosedError struct {
	// Open is about when leases are granted again.
	Open time.Time
	// Unseen is set if nobody has seen the server in use, or in a Cluster the slot. It may stand in for one on which leases still run.
	// If nothing was ever locked there, [Engine.OpenNow] opens it, and so does the command leasehold open.
	Unseen bool
}

// Error implements error.
func (e *ClosedError) Error() string {
	until := fmt.Sprintf("for another %s (until %s)", max(time.Until(e.Open), 0).Round(time.Second), e.Open.Format(time.RFC3339))
	if e.Unseen {
		return "grants are closed " + until + ": nobody has seen this server in use; `leasehold open` opens it if nothing was ever locked there"
	}
	return "grants are closed " + until + ": the server was started or promoted, or the slot of the name was moved, and it may lack leases " +
		"that still run; `leasehold open` opens it if none was lost"
}

// refusals are the first words of answers with which a server refuses a request before it has changed
// anything, but would not always.
var refusals = []string{
	"LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY", "NOREPLICAS", "BUSY", "MISCONF", "OOM", "NOSCRIPT", "MOVED", "CROSSSLOT",
}

// hopeless are the first words of those that it will always give.
var hopeless = map[string]string{
	"NOAUTH":    "give a password",
	"WRONGPASS": "give the right user and password",
	"WRONGTYPE": "the key holds something of another program; use another prefix or name",
	"DAMAGED":   "another program has written into what belongs to the name; delete its keys, or use another name",
}

// isBroken reports whether an error comes of what another program has written into the keys of a name: they have other types, or hold what a script cannot go
// on with. It is found in the same way by everybody, until somebody deletes them.
func isBroken(err error) bool {
	for _, begin := range []string{"WRONGTYPE", "DAMAGED", "user_script:"} {
		if redis.HasErrorPrefix(err, begin) {
			return true
		}
	}
	return false
}

// noEffect marks an error of a request that had no effect, unless it is marked already: it may be a permanent one.
func noEffect(err error) error {
	if driver.HadNoEffect(err) {
		return err
	}
	return driver.NoEffect(err)
}

// moving reports whether an error comes of a slot that is on its way from one server of a Cluster to another. Keys that are asked for together may
// then be in two places, and new ones in none.
func moving(err error) bool {
	return errors.Is(err, errMoving) || redis.HasErrorPrefix(err, "TRYAGAIN") || redis.HasErrorPrefix(err, "ASK ")
}

// explain makes an answer of the contract from an error of the client. What is sure to have had no effect is marked. An
// error of the network is not: the client may have sent the request before.
func explain(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	reply, replied := errors.AsType[redis.Error](err)
	err = fmt.Errorf("redis: %w", err)
	if !replied {
		return err
	}
	text := strings.TrimPrefix(reply.Error(), "ERR ")
	if strings.HasPrefix(text, "NOPERM ") || strings.HasPrefix(text, "The user executing the script can't ") || strings.HasPrefix(text, "ACL failure in script") {
		return lackingRight(reply)
	}
	for word, mend := range hopeless {
		if strings.HasPrefix(text, word+" ") {
			return driver.Permanent(fmt.Errorf("%w: %s", err, mend))
		}
	}
	if strings.HasPrefix(text, "unknown command") {
		return driver.Permanent(fmt.Errorf("%w: the engine needs it; see the smallest rights in docs/engines/redis.md", err))
	}
	if strings.Contains(text, "SPENT") {
		return errSpent
	}
	if moving(err) {
		return driver.NoEffect(fmt.Errorf("%w: the slot of the name is being moved to another server; try again", err))
	}
	for _, word := range refusals {
		if strings.HasPrefix(text, word) {
			return driver.NoEffect(err)
		}
	}
	return err
}
