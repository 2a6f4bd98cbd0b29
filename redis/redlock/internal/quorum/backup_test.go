package quorum

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/memory"
)

// grantsByToken are the grants that a node has made. Its engine does not tell the owners.
type grantsByToken map[tokenKey]ownGrant

type tokenKey struct {
	name  string
	token uint64
}

type ownGrant struct {
	hold driver.Hold
	last uint64 // of its tokens
}

// noteGrant remembers a grant.
func (n *simNode) noteGrant(h driver.Hold, token uint64, tokens int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.grantsMade[tokenKey{h.Name, token}] = ownGrant{h, token + uint64(max(tokens, 1)) - 1}
}

// backup is what a node knows at some moment, without its waiters.
type backup struct {
	clock  *clock
	leases []lease
	last   uint64 // the largest token
}

type lease struct {
	hold  driver.Hold
	token uint64
	end   time.Time // by the clock of the backup
}

func (n *simNode) backup() (b backup) {
	n.mu.Lock()
	defer n.mu.Unlock()
	page, _ := n.engine.List(context.Background(), driver.Query{})
	b.clock = n.clock
	now := n.clock.Now()
	for _, s := range page {
		for _, h := range s.Holders {
			if g, ok := n.grantsMade[tokenKey{s.Name, h.Token}]; ok {
				b.leases = append(b.leases, lease{g.hold, h.Token, now.Add(h.TTL)})
			}
		}
	}
	slices.SortFunc(b.leases, func(a, b lease) int { return cmp.Compare(a.token, b.token) })
	for g := range maps.Values(n.grantsMade) {
		b.last = max(b.last, g.last)
	}
	return b
}

// restore stops the server of the node, and starts one with an older backup.
func (n *simNode) restore(b backup, down time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clock = b.clock
	e := memory.New(memory.WithClock(n.clock))
	for _, l := range b.leases {
		if left := l.end.Sub(n.clock.Now()); left > 0 {
			takeAgain(e, l.hold, left, l.token)
		}
	}
	last := driver.Hold{Key: driver.Key{Kind: driver.Lock, Name: "the last"}, Owner: "nobody"}
	takeAgain(e, last, time.Hour, b.last)
	_ = e.Release(context.Background(), driver.Release{Hold: last}) // which only sets the counter
	n.restartLocked(e, time.Now().Add(down))
}

// takeAgain takes a name again, with the same token.
func takeAgain(e *memory.Engine, h driver.Hold, left time.Duration, token uint64) {
	r := driver.Request{Key: h.Key, Owner: h.Owner, Size: 1, Weight: 1, TTL: left, Tokens: 1}
	_, _ = e.TakeFrom(context.Background(), quorumnode.Request{Request: r, Floor: token})
}
