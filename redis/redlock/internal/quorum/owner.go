package quorum

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// owner is one name under which a call asks the nodes, and what it has there. Once it is spent, no take names it any
// more: releases do, and they may be in flight for any time.
type owner struct {
	call *call
	name string

	// The mutex of the call guards what follows.
	spent       bool        // a release names it, or is about to
	spentByNode bool        // a node has named it in a release of its own
	ballotLost  bool        // it has no ballot now, and what it is granted late is released
	floor       uint64      // the token floor of the ballot that it won, for nodes that have not answered yet
	nodes       []nodeState // by index
}

// nodeState is what an owner has in flight to one node, or may have left there.
type nodeState struct {
	takes             int     // in flight
	mayHold           bool    // the node has granted it something, or queued it, or may have
	pendingRelease    *fanOut // the caller's release, which waits for a take in flight; nil if there is none
	cleanups          int     // releases in flight that the caller has not asked for
	cleanupUnanswered bool    // the last of them had no answer
	uncertain         bool    // a request had no answer, and may arrive late
}

// newOwner returns an owner that nobody has named before: 160 random bits.
func newOwner() string {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// request returns the request to a node that stands for a request by the caller.
func (o *owner) request(r driver.Request) quorumnode.Request {
	r.Owner, r.Place = o.name, o.call.place
	return quorumnode.Request{Request: r, Floor: o.tokenFloor()}
}

// tokenFloor is the smallest token that the owner may be granted. For a holder that is the floor of the ballot that it
// won; for all others it is larger than any token that a node can have forgotten.
func (o *owner) tokenFloor() uint64 {
	o.call.mu.Lock()
	defer o.call.mu.Unlock()
	return cmp.Or(o.floor, uint64(time.Now().UnixMicro()))
}

// beginTake notes that a take is sent to a node. It reports false if the owner is spent, so that no take may be sent.
func (o *owner) beginTake(n *node) bool {
	o.call.mu.Lock()
	defer o.call.mu.Unlock()
	if !o.spent {
		o.nodes[n.index].takes++
	}
	return !o.spent
}

// noteTakeBegun notes that a take is sent to a node for an owner that nobody can have released yet.
func (o *owner) noteTakeBegun(n *node) {
	o.call.mu.Lock()
	defer o.call.mu.Unlock()
	o.nodes[n.index].takes++
}

// noteCleanupBegun notes that the owner, which is spent, is released on a node.
func (o *owner) noteCleanupBegun(n *node) {
	o.call.mu.Lock()
	defer o.call.mu.Unlock()
	o.nodes[n.index].cleanups++
}

// endTake notes the answer of a node to a take. mayHold says that the node may have granted the name or queued the
// owner, uncertain that it has not answered. If the owner has no use for that, cleanUp is true, and the caller must
// begin a cleanup, whose outcome it reports to release, unless that is nil. The cleanup is not for this take alone: the
// owner may have held or waited there before.
func (o *owner) endTake(n *node, mayHold, uncertain bool) (cleanUp bool, release *fanOut) {
	o.call.mu.Lock()
	defer o.call.mu.Unlock()
	state := &o.nodes[n.index]
	state.uncertain = state.uncertain || uncertain
	if state.takes--; state.takes == 0 {
		release, state.pendingRelease = state.pendingRelease, nil
	}
	if (o.spent || o.ballotLost) && (release != nil || mayHold) {
		o.spent = true
		state.cleanups++
		return true, release
	}
	state.mayHold = state.mayHold || mayHold
	return false, nil
}

// noteSpentByNode notes that a node has named the owner in a release of its own, which may arrive there at any later
// time. The owner may not ask in another ballot, but it keeps what a majority of other nodes grants it in this one.
func (o *owner) noteSpentByNode() {
	o.call.mu.Lock()
	defer o.call.mu.Unlock()
	o.spentByNode = true
}

// noteUnknown notes that a request to a node had no answer.
func (o *owner) noteUnknown(n *node) {
	o.call.mu.Lock()
	defer o.call.mu.Unlock()
	o.nodes[n.index].uncertain = true
}

// loseBallot ends a ballot without a lease, and reports for each node whether it must release the owner. If no node
// must, the owner may ask again.
func (o *owner) loseBallot() (mustRelease []bool) {
	o.call.mu.Lock()
	defer o.call.mu.Unlock()
	o.floor, o.ballotLost = 0, true
	mustRelease = make([]bool, len(o.nodes))
	for i := range o.nodes {
		state := &o.nodes[i]
		o.spent = o.spent || state.mayHold
		mustRelease[i], state.mayHold = state.mayHold, false
		if mustRelease[i] {
			state.cleanups++
		}
	}
	return mustRelease
}

// mayBeSpent reports whether the owner is spent, or will be if a node answers late.
func (o *owner) mayBeSpent() bool {
	o.call.mu.Lock()
	defer o.call.mu.Unlock()
	return o.mayBeSpentLocked()
}

// mayBeSpentLocked is mayBeSpent with the mutex of the call held.
func (o *owner) mayBeSpentLocked() bool {
	return o.spent || o.spentByNode || slices.ContainsFunc(o.nodes, func(s nodeState) bool { return s.takes > 0 })
}

// grantOwner is the owner that a grant names: "" if it is that of the request.
func (o *owner) grantOwner(r driver.Request) string {
	if o.name == r.Owner {
		return ""
	}
	return o.name
}

// noteCleanup notes the outcome of a cleanup.
func (o *owner) noteCleanup(n *node, err error) {
	o.call.mu.Lock()
	defer o.call.mu.Unlock()
	state := &o.nodes[n.index]
	state.cleanups--
	state.cleanupUnanswered = err != nil && !driver.IsNo(err)
	state.uncertain = state.uncertain || state.cleanupUnanswered
}

// mayBeOnNodeLocked reports whether a node may still have something of the owner. The mutex of the call is held.
func (o *owner) mayBeOnNodeLocked() bool {
	for i := range o.nodes {
		if state := &o.nodes[i]; state.takes > 0 || state.cleanups > 0 || state.uncertain {
			return true
		}
	}
	return false
}
