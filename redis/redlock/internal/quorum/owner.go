package quorum

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// owner is one name under which an attempt asks the nodes, and what it has there. When it is over, no take names it any more: from then on releases do, which may
// be under way for any time.
type owner struct {
	attempt *attempt
	name    string

	// What follows is guarded by the mutex of the attempt.
	over  bool    // a release names it, or is about to
	named bool    // a node has named it in a release of its own
	lost  bool    // it asks for nothing now, and what it is granted late is released
	floor uint64  // the least token of the ballot that was won; nodes that are slow still have to answer to it
	on    []trace // by node
}

// trace is what an owner has under way on one node, or may have left there.
type trace struct {
	asked int   // takes under way
	left  bool  // the node has granted it something, or has it in its queue, or may have
	tell  *poll // of the release by the caller, which came while the node was still asked; nil if there was none
	drops int   // releases under way that the caller has not asked for
	owed  bool  // the last of them had no answer
	doubt bool  // something had none, and may arrive late
}

// fresh returns an owner that nobody has named before: 160 random bits.
func fresh() string {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// least is the least token that the owner may be granted. One who holds already is asked for the same again; all others for one that is larger than any that
// a node can have forgotten.
func (o *owner) least() uint64 {
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	return cmp.Or(o.floor, uint64(time.Now().UnixMicro()))
}

// ask notes that a take is sent to a node. If it reports false, the owner is over, and no take may be sent.
func (o *owner) ask(n *node) bool {
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	if !o.over {
		o.on[n.index].asked++
	}
	return !o.over
}

// took takes in the answer of a node to a take; left is whether something may be left there, doubt whether there was no answer. If the owner is over, and something is, drop is true: the caller must
// begin a drop. tell wants to know the outcome of that. Its release is not for this take alone: the owner may also hold or wait there since before.
func (o *owner) took(n *node, left, doubt bool) (drop bool, tell *poll) {
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	t := &o.on[n.index]
	t.doubt = t.doubt || doubt
	if t.asked--; t.asked == 0 {
		tell, t.tell = t.tell, nil
	}
	if (o.over || o.lost) && (tell != nil || left) {
		o.over = true
		t.drops++
		return true, tell
	}
	t.left = t.left || left
	return false, nil
}

// names notes that a node has named the owner in a release of its own, which may arrive there at any later time: no ballot after this one may ask as it. What
// a majority of others grants it in this one is its own all the same.
func (o *owner) names() {
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	o.named = true
}

// doubts notes that a request to a node had no answer.
func (o *owner) doubts(n *node) {
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	o.on[n.index].doubt = true
}

// lose ends what an owner has asked for in vain, and reports for each node whether it must be released there. If it need not be anywhere, it may ask again.
func (o *owner) lose() (left []bool) {
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	o.floor, o.lost = 0, true
	left = make([]bool, len(o.on))
	for i := range o.on {
		t := &o.on[i]
		o.over = o.over || t.left
		left[i], t.left = t.left, false
		if left[i] {
			t.drops++
		}
	}
	return left
}

// spent reports whether the owner is over, or may be as soon as a node answers late.
func (o *owner) spent() bool {
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	return o.mayEnd()
}

// mayEnd is spent for an owner that asks for nothing now. The mutex of the attempt is held.
func (o *owner) mayEnd() bool {
	return o.over || o.named || slices.ContainsFunc(o.on, func(t trace) bool { return t.asked > 0 })
}

// instead is the owner as the grant to a request names it: nothing if the request has.
func (o *owner) instead(r driver.Request) string {
	if o.name == r.Owner {
		return ""
	}
	return o.name
}

// dropped notes the outcome of a drop.
func (o *owner) dropped(n *node, err error) {
	o.attempt.mu.Lock()
	defer o.attempt.mu.Unlock()
	t := &o.on[n.index]
	t.drops--
	t.owed = err != nil && !driver.IsNo(err)
	t.doubt = t.doubt || t.owed
}

// leaves reports whether something of the owner may be left on a node. The mutex of the attempt is held.
func (o *owner) leaves() bool {
	for i := range o.on {
		if t := &o.on[i]; t.asked > 0 || t.drops > 0 || t.doubt {
			return true
		}
	}
	return false
}
