package zookeeper

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

var (
	errClosed   = driver.Permanent(errors.New("the zookeeper engine has been closed: open another one"))
	errNoAnswer = errors.New("zookeeper: no answer in time: " +
		"check the servers and the network, or allow more time (WithTimeout, timeout=)")
	errNoSession = driver.NoEffect(errors.New("zookeeper: no server has accepted this client: " +
		"check that a majority of them runs and has a leader"))
	errBusy = driver.NoEffect(errors.New("zookeeper: " +
		"too many requests are in flight without an answer: try again"))
	errSession      = errors.New("zookeeper: the session has changed in the middle of a request")
	errNodeChanging = driver.NoEffect(errors.New("zookeeper: the node of the name comes and goes too fast: try again"))
	errSpent        = driver.Permanent(errors.New("zookeeper: the ensemble has given out all tokens below 2^53: " +
		"use a new one, once nobody compares its tokens with old ones"))
	errShorter = driver.NoEffect(errors.New("zookeeper: " +
		"a server gives shorter sessions than when the engine was opened, shorter than this lease needs: " +
		"set the same maxSessionTimeout on all of them, and open the engine again"))

	errForgedSequence = errors.New("zookeeper: " +
		"somebody has created nodes with sequence numbers that no server has counted, " +
		"beside the nodes of holders and waiters: remove them")

	// errGone means that an entry, or the node of a name, does not exist any more.
	errGone = errors.New("the node is gone")
)

// isAnswer reports whether an error is a server's refusal of a request, which then had no effect.
func isAnswer(err error) bool {
	for _, answer := range answers {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

var answers = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrBadVersion, zk.ErrNoAuth, zk.ErrInvalidACL,
	zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments,
}

// fixes say what to do about refusals that would come again if the request were repeated.
var fixes = map[error]string{
	zk.ErrNoAuth: "this user may not do that to the nodes of the locks: " +
		"give the user and the password with which they were made, or give this user rights",
	zk.ErrAuthFailed: "the servers do not accept the user or the password: check both",
	zk.ErrInvalidACL: "the servers do not accept the rights that the nodes are to have: " +
		"give a user and a password, or neither these nor acl=",
	zk.ErrNoChildrenForEphemerals: "the prefix leads below a node of another program: use another prefix",
	zk.ErrBadArguments: "the servers are older than 3.6, " +
		"or the prefix is not a path that they allow: check both",
}

// explain turns an error of the library into one of the driver contract. Answers about nodes stay as they are. It marks
// errors that certainly had no effect. Errors of the connection are not marked, since the request may have been sent.
func (c *client) explain(err error) error {
	if err == nil || driver.HadNoEffect(err) {
		return err
	}
	for answer, fix := range fixes {
		if errors.Is(err, answer) {
			return driver.Permanent(fmt.Errorf("zookeeper: %w: %s", answer, fix))
		}
	}
	switch {
	case isAnswer(err):
		return err
	case c.ctx.Err() != nil:
		return errClosed
	case errors.Is(err, zk.ErrNoServer), errors.Is(err, zk.ErrSessionMoved):
		return driver.NoEffect(fmt.Errorf("zookeeper: %w", err)) // it was not sent, or is ignored
	case errors.Is(err, errSession):
		return err
	}
	return fmt.Errorf("zookeeper: %w", err)
}

// asUnexpected is for an answer about nodes where none was expected.
func asUnexpected(err error) error {
	if err != nil && isAnswer(err) && !driver.HadNoEffect(err) {
		return driver.NoEffect(fmt.Errorf("zookeeper: %w, although it was expected otherwise: try again", err))
	}
	return err
}

// asUnknown removes the mark of an error that had no effect: it is for failures of the second half of a request whose
// first half had an effect.
func asUnknown(err error) error {
	if rights, ok := errors.AsType[*RightsError](err); ok {
		return fmt.Errorf("%w, in the middle of a request", rights) // without the mark
	}
	if driver.HadNoEffect(err) {
		return fmt.Errorf("%v, in the middle of a request", err) // without the mark
	}
	return err
}
