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
	Closed    Answer = "grants nothing yet" // it was restarted or promoted a short while ago
	NoAnswer  Answer = "no answer"
	Undecided Answer = "not waited for" // the others have decided
	Failed    Answer = "error"
)

// Vote is the answer of one node to one take.
type Vote struct {
	Node   string
	Answer Answer
	// Left is for how long another still holds it there, unless the lease is renewed; 0 if the node does not say, negative if it has no end.
	Left time.Duration
	// Until is when a node that grants nothing yet will, about.
	Until time.Time
	// Err is what the node has said, if it is an error.
	Err error

	again bool // it refuses, and has been asked once more
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

// votes are those of all nodes before any of them has answered.
func (e *Engine) votes(first Answer) []Vote {
	votes := make([]Vote, len(e.nodes))
	for i, n := range e.nodes {
		votes[i] = Vote{Node: n.name, Answer: first}
	}
	return votes
}

// Error says how the nodes have voted on a take that has failed. If it has because others hold the lock, or because nodes grant nothing
// yet and it is worth while to wait for them, it is a driver.ErrHeld.
type Error struct {
	Votes []Vote
	Need  int // how many nodes are a majority
	kind  error
}

// Error implements error.
func (e *Error) Error() string {
	votes := make([]string, len(e.Votes))
	for i, v := range e.Votes {
		votes[i] = v.String()
	}
	return fmt.Sprintf("not granted by %d of %d nodes: %s", e.Need, len(e.Votes), strings.Join(votes, "; "))
}

// Unwrap returns driver.ErrHeld if that is what it comes to, or nil.
func (e *Error) Unwrap() error { return e.kind }

// vote reads the error of a node that was asked to grant something.
func (e *Engine) vote(n *node, err error) Vote {
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
	case isSilence(err):
		v.Answer = NoAnswer
	default:
		v.Answer = Failed
	}
	return v
}

// isSilence reports whether a node has not answered in time, or is not asked because it has not.
func isSilence(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, errSilent) || isTimeout(err)
}

// isTimeout reports whether a client of a network has given up.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// verdict is the error of a take that has failed, and whether answers that are still to come cannot change its kind. It is a "no" if
// a majority answers, and would grant it once others let go. Nodes that grant nothing yet count with them for those who wait anyway.
func (e *Engine) verdict(votes []Vote, waits bool) (err error, sure bool) {
	failed := &Error{Votes: votes, Need: e.need}
	count := map[Answer]int{}
	permanent := 0
	for _, v := range votes {
		count[v.Answer]++
		if v.Answer == Failed && driver.IsPermanent(v.Err) {
			permanent++
		}
	}
	answer, open := count[Granted]+count[Held], count[Undecided]
	if waits {
		answer += count[Closed]
	}
	switch {
	case answer >= e.need && answer > count[Granted], count[Held] > len(votes)-e.need: // a majority that has granted it has not agreed on a token
		failed.kind = driver.ErrHeld
		return failed, true
	case answer+open >= e.need:
		return failed, false
	case answer+count[Closed] >= e.need:
		return driver.NoEffect(failed), open == 0
	case permanent > len(votes)-e.need:
		return driver.Permanent(failed), true
	}
	return failed, true
}
