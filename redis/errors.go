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

// ClosedError is why no lease is granted for a while after a failover or a restart of the server.
type ClosedError struct {
	// Open is about when leases are granted again.
	Open time.Time
}

// Error implements error.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("no lease is granted until %s, because the server was started or promoted a short while ago and may lack leases that still run; "+
		"WithoutFailoverGuard (guard=off) grants them at once", e.Open.Format(time.RFC3339))
}

// refusals are the first words of answers with which a server refuses a request before it has changed
// anything, but would not always.
var refusals = []string{
	"LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY", "NOREPLICAS", "BUSY", "MISCONF", "OOM", "NOSCRIPT", "MOVED", "CROSSSLOT",
}

// hopeless are the first words of those that it will always give.
var hopeless = map[string]string{
	"NOPERM":    "see the smallest rights in the engine's documentation",
	"NOAUTH":    "give a password",
	"WRONGPASS": "give the right user and password",
	"WRONGTYPE": "the key holds something of another program; use another prefix or name",
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
	err = fmt.Errorf("redis: %w", err)
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	text := strings.TrimPrefix(reply.Error(), "ERR ")
	for word, mend := range hopeless {
		if strings.HasPrefix(text, word+" ") {
			return driver.Permanent(fmt.Errorf("%w: %s", err, mend))
		}
	}
	if strings.HasPrefix(text, "unknown command") || strings.HasPrefix(text, "The user executing the script can't ") || strings.HasPrefix(text, "ACL failure in script") {
		return driver.Permanent(fmt.Errorf("%w: %s", err, hopeless["NOPERM"]))
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
