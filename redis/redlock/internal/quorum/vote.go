package quorum

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Answer is how one node has voted.
type Answer string

// The answers.
const (
	Granted   Answer = "granted"
	Held      Answer = "held by another"
	Closed    Answer = "grants nothing yet" // the node was restarted or promoted a short while ago
	NoAnswer  Answer = "no answer"
	Undecided Answer = "not waited for" // the other nodes have decided
	Failed    Answer = "error"
)

// Vote is the answer of one node to one take.
type Vote struct {
	Node   string
	Answer Answer
	// Left is for how long another holder still has the name there, unless its lease is renewed. It is 0 if
	// the node does not say, and negative if the lease has no end.
	Left time.Duration
	// Until is about when a node that grants nothing yet will grant again.
	Until time.Time
	// Err is the error with which the node has answered, if any.
	Err error

	noRetry bool // do not ask again: a retry is in flight, or the node has spent the owner
}

// String says what the node has answered, for errors.
func (v Vote) String() string {
	switch {
	case v.Answer == Closed:
		return fmt.Sprintf("%s %s, until %s", v.Node, v.Answer, v.Until.Format(time.RFC3339))
	case v.Answer == Held && v.Left > 0:
		return fmt.Sprintf("%s %s for another %v", v.Node, v.Answer, v.Left)
	case v.Answer == Failed && v.Err != nil:
		return fmt.Sprintf("%s %s: %s", v.Node, v.Answer, v.Err)
	}
	return fmt.Sprintf("%s %s", v.Node, v.Answer)
}

// newVotes returns the votes of all nodes before any of them has answered.
func (e *Engine) newVotes(first Answer) []Vote {
	votes := make([]Vote, len(e.nodes))
	for i, n := range e.nodes {
		votes[i] = Vote{Node: n.name, Answer: first}
	}
	return votes
}

// Error says how the nodes have voted on a take that has failed. It is a driver.ErrHeld if others hold the lock, or if
// nodes grant nothing yet and the caller may as well wait for them.
type Error struct {
	Votes  []Vote
	Need   int // how many nodes are a majority
	kind   error
	closed *driver.GrantsClosedError // why nothing is granted, if that is the only reason
}

// Error implements error.
func (e *Error) Error() string {
	if e.closed != nil {
		return e.closed.Error() + "; " + e.describeVotes()
	}
	return e.describeVotes()
}

func (e *Error) describeVotes() string {
	votes := make([]string, len(e.Votes))
	for i, v := range e.Votes {
		votes[i] = v.String()
	}
	return fmt.Sprintf("not granted by %d of %d nodes: %s", e.Need, len(e.Votes), strings.Join(votes, "; "))
}

// Unwrap returns driver.ErrHeld if the votes come to that, and a driver.GrantsClosedError if too many nodes grant
// nothing yet.
func (e *Error) Unwrap() (all []error) {
	if e.kind != nil {
		all = append(all, e.kind)
	}
	if e.closed != nil {
		all = append(all, e.closed)
	}
	return all
}

// readVote makes a vote of what a node has answered.
func (e *Engine) readVote(n *node, err error) Vote {
	v := Vote{Node: n.name, Err: err}
	switch until, closed := e.Closed(err); {
	case err == nil:
		v.Answer = Granted
	case closed:
		v.Answer, v.Until = Closed, until
	case errors.Is(err, driver.ErrHeld):
		v.Answer = Held
		if held, ok := errors.AsType[*driver.HeldError](err); ok {
			v.Left = held.Left
		}
	case isNoAnswer(err):
		v.Answer = NoAnswer
	default:
		v.Answer = Failed
	}
	return v
}

// isNoAnswer reports whether a node has not answered in time, or was not asked because it had not answered before.
func isNoAnswer(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, errNodeSilent) || isTimeout(err)
}

// isTimeout reports whether a network client has given up.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// verdict returns the error of a take that has failed, and whether it is final: answers that are still to
// come cannot change its kind. It is a "no" if a majority answers and would grant the name once others
// release it. For a caller that waits, nodes that grant nothing yet count as well: it would wait for them,
// too.
func (e *Engine) verdict(votes []Vote, waits bool) (err error, final bool) {
	failed := &Error{Votes: votes, Need: e.majority}
	count := map[Answer]int{}
	permanent := 0
	for _, v := range votes {
		count[v.Answer]++
		if v.Answer == Failed && driver.IsPermanent(v.Err) {
			permanent++
		}
	}
	if count[Held] == 0 {
		failed.closed = e.whyClosed(votes, count[Granted])
	}
	wouldGrant, open := count[Granted]+count[Held], count[Undecided]
	if waits {
		wouldGrant += count[Closed]
	}
	switch {
	// If a majority has granted the name and the take has failed, they have not agreed on a token: that is no "no".
	case wouldGrant >= e.majority && wouldGrant > count[Granted], count[Held] > len(votes)-e.majority:
		failed.kind = driver.ErrHeld
		return failed, true
	case wouldGrant+open >= e.majority:
		return failed, false
	case wouldGrant+count[Closed] >= e.majority:
		return driver.NoEffect(failed), open == 0
	case permanent > len(votes)-e.majority:
		return driver.Permanent(failed), true
	}
	return failed, true
}
