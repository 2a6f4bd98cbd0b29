package zookeeper

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/contended"
)

// record is the data of an entry. Every user with the right to read can see it.
type record struct {
	Holder string `json:"holder"`
	// TTL is how long the lease was to last, in milliseconds. For a kept lock it is how long it is kept, from its
	// creation.
	TTL int64 `json:"ttl"`
	// Shared is set when a writer has downgraded.
	Shared bool `json:"shared,omitempty"`
	// Token is the token of the lock, for a kept one.
	Token uint64 `json:"token,omitempty"`
}

func (r record) bytes() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // text and numbers can always be encoded
	}
	return b
}

// readRecord decodes the data of an entry. Data that another program has written gives an empty record.
func readRecord(data []byte) (r record) {
	_ = json.Unmarshal(data, &r)
	r.TTL = max(min(r.TTL, maxRecordTTL.Milliseconds()), 0)
	if r.Token > driver.MaxToken {
		r.Token = 0 // no valid token
	}
	return r
}

// maxRecordTTL is longer than any lease, and than any lock is kept.
const maxRecordTTL = 366 * 24 * time.Hour

// millis rounds up, so that nothing is shorter than requested.
func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// ownerID returns what stands for an owner in the name of a node, which others may read: the owner itself is a secret.
func ownerID(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:16])
}

// newNonce returns what makes the name of an entry unique for ever.
func newNonce() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// ownerKey identifies what an owner wants or has.
type ownerKey struct {
	driver.Key
	id string
}

// ownedNode is an entry of this process: by it an owner holds or waits, or a lock is kept after its release.
type ownedNode struct {
	ownerKey
	parent, name string // the node is parent/name
	mode         byte
	weight, size int
	token        uint64
	session      int64
	holder       string
	kept         bool

	// Guarded by ownedNodes.mu.
	granted     bool
	sawOthers   bool // others were seen in the queue
	downgraded  bool
	removed     bool      // it was removed, or is about to be
	ttl         int64     // milliseconds, as in the record
	end         time.Time // when the lease expires, or the waiter counts as gone
	position    position  // the last one read, if hasPosition
	hasPosition bool
}

func (node *ownedNode) path() string { return node.parent + "/" + node.name }

// recordLocked returns the data of the entry. ownedNodes.mu must be held.
func (node *ownedNode) recordLocked() record {
	return record{Holder: node.holder, TTL: node.ttl, Shared: node.downgraded}
}

// ownedNodes are the entries of this process. Only the servers know those of others.
type ownedNodes struct {
	mu  sync.Mutex
	all map[ownerKey]*ownedNode
	// unknown are owners with a take of unknown outcome: the servers may have entries of theirs that all lacks.
	unknown map[ownerKey]struct{}
	// removing has the names of entries that are about to be removed. They must not be found and used again.
	removing map[string]struct{}
	// contended has the names at which others were seen a short while ago.
	contended contended.Names[driver.Key]
}

// contendedFor is how long a name counts as contended after others were seen at it.
const contendedFor = time.Second

func (o *ownedNodes) init() {
	o.all = make(map[ownerKey]*ownedNode)
	o.unknown = make(map[ownerKey]struct{})
	o.removing = make(map[string]struct{})
}

// find returns the entry of an owner, or nil, and whether the servers may have more of the owner's.
func (o *ownedNodes) find(key ownerKey) (node *ownedNode, unknown bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, unknown = o.unknown[key]
	return o.all[key], unknown
}

// add notes an entry that was found or created, alone below the node of the name or not. It returns the entry that the
// owner has now. If the owner had an entry already, as when a take that was given up arrives late, the earlier one
// counts, and the outcome of the owner's takes is unknown. But if the new one is alone, the earlier one must be gone.
func (o *ownedNodes) add(node *ownedNode, alone bool) (has *ownedNode) {
	o.mu.Lock()
	defer o.mu.Unlock()
	earlier := o.all[node.ownerKey]
	if earlier != nil && earlier.name == node.name {
		return earlier
	}
	if earlier != nil {
		o.unknown[node.ownerKey] = struct{}{}
		if !alone {
			return earlier
		}
		earlier.removed = true
	}
	o.all[node.ownerKey] = node
	return node
}

// remove forgets an entry that is gone.
func (o *ownedNodes) remove(node *ownedNode) {
	o.mu.Lock()
	defer o.mu.Unlock()
	node.removed = true
	if o.all[node.ownerKey] == node {
		delete(o.all, node.ownerKey)
	}
}

// noteUnknown notes that the servers may have entries of an owner that are not known here.
func (o *ownedNodes) noteUnknown(key ownerKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unknown[key] = struct{}{}
}

// clearUnknown notes that the servers have nothing of an owner that is not known here.
func (o *ownedNodes) clearUnknown(key ownerKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.unknown, key)
}

// beginRemoval takes an entry out of use before it is removed. It reports whether others were seen in the queue.
func (o *ownedNodes) beginRemoval(node *ownedNode) (others bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	node.removed = true
	o.removing[node.name] = struct{}{}
	if o.all[node.ownerKey] == node {
		delete(o.all, node.ownerKey)
	}
	return node.sawOthers
}

// isBeingRemoved reports whether an entry is about to be removed.
func (o *ownedNodes) isBeingRemoved(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, is := o.removing[name]
	return is
}

// noteRemoved notes that an entry does not exist any more.
func (o *ownedNodes) noteRemoved(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.removing, name)
}

// forgetAll forgets all entries after the end of the session. Owners with unknown outcomes stay: a request of the old
// session may still be sent in the next one.
func (o *ownedNodes) forgetAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, node := range o.all {
		node.removed = true
	}
	clear(o.all)
	clear(o.removing)
}
