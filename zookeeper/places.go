package zookeeper

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// record is the data of a place. Everybody may see it.
type record struct {
	Holder string `json:"holder"`
	// TTL is how long the lease was to last, in milliseconds; that of a kept place is for how long it is kept from its creation.
	TTL int64 `json:"ttl"`
	// Shared says that a writer is content to be a reader.
	Shared bool `json:"shared,omitempty"`
	// Token is that of the one who held a kept place.
	Token uint64 `json:"token,omitempty"`
}

func (r record) bytes() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // it is text and numbers
	}
	return b
}

// recordOf reads the data of a place. That of another program is empty.
func recordOf(data []byte) (r record) {
	_ = json.Unmarshal(data, &r)
	r.TTL = max(min(r.TTL, longestRecord.Milliseconds()), 0)
	if r.Token > driver.MaxToken {
		r.Token = 0 // it is none
	}
	return r
}

// longestRecord is longer than any lease, and than any place is kept.
const longestRecord = 366 * 24 * time.Hour

// millis rounds up, so that nothing is shorter than was asked for.
func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// idOf stands for an owner in the name of a node, which others may read: the owner itself is a secret.
func idOf(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:16])
}

// newNonce makes the name of a place one that never comes again.
func newNonce() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// claim is what an owner wants or has.
type claim struct {
	driver.Key
	id string
}

// place is a node by which this process holds or waits, or that it keeps for nobody.
type place struct {
	claim
	parent, name string // the node is parent/name
	mode         byte
	weight, size int
	token        uint64
	session      int64
	holder       string
	kept         bool

	// Guarded by the mu of places.
	granted    bool
	waited     bool // for somebody else
	downgraded bool
	gone       bool      // it is removed, or about to be
	ttl        int64     // of the record
	end        time.Time // when its lease ends, or it is taken for forgotten
	verdict    verdict   // the last one, if seen
	seen       bool
}

func (p *place) path() string { return p.parent + "/" + p.name }

// record is the data of the place. mu is held.
func (p *place) record() record {
	return record{Holder: p.holder, TTL: p.ttl, Shared: p.downgraded}
}

// places are what this process has. Those of others only the servers know.
type places struct {
	mu  sync.Mutex
	all map[claim]*place
	// doubts are owners of whom the servers may have more than is known here, since an answer was lost.
	doubts map[claim]struct{}
	// doomed are nodes of places that are about to be removed, and so no places any more for who finds them.
	doomed map[string]struct{}
	// busy are names that were lately seen held by others, and until when that is worth something.
	busy map[driver.Key]time.Time
}

const (
	busyFor  = time.Second
	mostBusy = 1024
)

func (s *places) init() {
	s.all = make(map[claim]*place)
	s.doubts = make(map[claim]struct{})
	s.doomed = make(map[string]struct{})
	s.busy = make(map[driver.Key]time.Time)
}

// find returns the place of an owner, or nil, and whether the servers may have more.
func (s *places) find(c claim) (p *place, doubt bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, doubt = s.doubts[c]
	return s.all[c], doubt
}

// add notes a place that was found or made, alone in the node of the name or not. It returns the one that the owner has now: if it had one already, as
// when a take that was given up arrives after all, that one comes earlier, and the servers have more than is known here. Who is alone is the proof that the
// one before is gone.
func (s *places) add(p *place, alone bool) (has *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.all[p.claim]
	if was != nil && was.name == p.name {
		return was
	}
	if was != nil {
		s.doubts[p.claim] = struct{}{}
		if !alone {
			return was
		}
		was.gone = true
	}
	s.all[p.claim] = p
	return p
}

// drop forgets a place that is gone.
func (s *places) drop(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.gone = true
	if s.all[p.claim] == p {
		delete(s.all, p.claim)
	}
}

// doubt notes that the servers may have more of an owner than is known here.
func (s *places) doubt(c claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubts[c] = struct{}{}
}

// settle ends a doubt.
func (s *places) settle(c claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.doubts, c)
}

// doom takes a place out of use that is about to be removed. It reports whether others were seen behind it.
func (s *places) doom(p *place) (crowded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.gone = true
	s.doomed[p.name] = struct{}{}
	if s.all[p.claim] == p {
		delete(s.all, p.claim)
	}
	return p.waited
}

// isDoomed reports whether a node is about to be removed.
func (s *places) isDoomed(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.doomed[name]
	return is
}

// removed notes that a node is not there any more.
func (s *places) removed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.doomed, name)
}

// forget drops everything: the session is over. Doubts stay, as what was asked for in it may be sent in the next one.
func (s *places) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.all {
		p.gone = true
	}
	clear(s.all)
	clear(s.doomed)
}

// crowd notes that others hold a name, or wait for it.
func (s *places) crowd(k driver.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.busy) >= mostBusy {
		clear(s.busy)
	}
	s.busy[k] = time.Now().Add(busyFor)
}

// crowded reports whether others probably hold a name, or wait for it.
func (s *places) crowded(k driver.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, known := s.busy[k]
	if known && time.Now().After(until) {
		delete(s.busy, k)
		return false
	}
	return known
}

// quiet notes that nobody holds a name, nor waits for it.
func (s *places) quiet(k driver.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, k)
}
