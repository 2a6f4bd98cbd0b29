package zookeeper

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

var (
	errClosed    = driver.Permanent(errors.New("the zookeeper engine has been closed: open another one"))
	errNoAnswer  = errors.New("zookeeper: no answer in time: look whether the servers and the network are well, or allow more time (WithTimeout, timeout=)")
	errNoSession = driver.NoEffect(errors.New("zookeeper: no server has taken this client in: look whether a majority of them runs and has a leader"))
	errBusy      = driver.NoEffect(errors.New("zookeeper: too many requests are under way without an answer: try again"))
	errSession   = errors.New("zookeeper: the session has changed in the middle of a request")
	errTurmoil   = driver.NoEffect(errors.New("zookeeper: the node of the name comes and goes too fast: try again"))
	errSpent     = driver.Permanent(errors.New("zookeeper: the ensemble has given out all tokens below 2^53: use a new one, once nobody compares its tokens with old ones"))
	errShorter   = driver.NoEffect(errors.New("zookeeper: a server gives shorter sessions than when the engine was opened, shorter than this lease needs: set the same maxSessionTimeout on all of them, and open the engine again"))

	errMadeUp = errors.New("zookeeper: somebody has put nodes with numbers that no server has counted beside the places of the name: remove them")

	// errGone says that a place is not there any more.
	errGone = errors.New("the place is gone")
)

// isAnswer reports whether an error is a server's answer to what was asked: it was refused, and had no effect.
func isAnswer(err error) bool {
	for _, answer := range answers {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

var answers = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrBadVersion, zk.ErrNoAuth, zk.ErrInvalidACL, zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments,
}

// mends are what to do about answers that come again if the request is repeated.
var mends = map[error]string{
	zk.ErrNoAuth:                  "this user may not do that to the nodes of the locks: give the user and the password with which they were made, or give this user rights",
	zk.ErrAuthFailed:              "the servers do not accept the user or the password: look at both",
	zk.ErrInvalidACL:              "the servers do not accept the rights that the nodes are to have: give a user and a password, or neither these nor acl=",
	zk.ErrNoChildrenForEphemerals: "the prefix leads below a node of another program: use another prefix",
	zk.ErrBadArguments:            "the servers are older than 3.6, or the prefix is not a path that they allow: look at both",
}

// explain makes an answer of the contract from an error of the client. What tells of nodes stays as it is. What is sure to have had no effect is
// marked; an error of the connection is not, as the request may have been sent before.
func (c *client) explain(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	for answer, mend := range mends {
		if errors.Is(err, answer) {
			return driver.Permanent(fmt.Errorf("zookeeper: %w: %s", answer, mend))
		}
	}
	switch {
	case isAnswer(err):
		return err
	case c.life.Err() != nil:
		return errClosed
	case errors.Is(err, zk.ErrNoServer), errors.Is(err, zk.ErrSessionMoved):
		return driver.NoEffect(fmt.Errorf("zookeeper: %w", err)) // it was not sent, or is ignored
	case errors.Is(err, errSession):
		return err
	}
	return fmt.Errorf("zookeeper: %w", err)
}

// surprise is for an answer about nodes where none was expected.
func surprise(err error) error {
	if err != nil && isAnswer(err) && !driver.HadNoEffect(err) {
		return driver.NoEffect(fmt.Errorf("zookeeper: %w, although it was expected otherwise: try again", err))
	}
	return err
}

// undecided is for a failure of the second half of a request whose first half had an effect.
func undecided(err error) error {
	if lacks, ok := errors.AsType[*RightsError](err); ok {
		return fmt.Errorf("%w, in the middle of a request", lacks) // which is not marked
	}
	if driver.HadNoEffect(err) {
		return fmt.Errorf("%v, in the middle of a request", err) // which is not marked
	}
	return err
}
