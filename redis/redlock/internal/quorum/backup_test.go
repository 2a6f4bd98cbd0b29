package quorum

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// grants are those that a place knows to have made, by name and token. The engine does not tell secrets.
type grants map[grant]granted

type grant struct {
	name  string
	token uint64
}

type granted struct {
	hold driver.Hold
	last uint64 // of its tokens
}

// note remembers a grant.
func (p *place) note(h driver.Hold, token uint64, tokens int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[grant{h.Name, token}] = granted{h, token + uint64(max(tokens, 1)) - 1}
}

// backup is what a place knows at some moment. Who waits there is not in it.
type backup struct {
	clock  *clock
	leases []lease
	last   uint64 // token
}

type lease struct {
	hold  driver.Hold
	token uint64
	end   time.Time // by that clock
}

func (p *place) backup() (b backup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	page, _ := p.engine.List(context.Background(), driver.Query{})
	b.clock = p.clock
	now := p.clock.Now()
	for _, s := range page {
		for _, h := range s.Holders {
			if g, ok := p.known[grant{s.Name, h.Token}]; ok {
				b.leases = append(b.leases, lease{g.hold, h.Token, now.Add(h.TTL)})
			}
		}
	}
	slices.SortFunc(b.leases, func(a, b lease) int { return cmp.Compare(a.token, b.token) })
	for g := range maps.Values(p.known) {
		b.last = max(b.last, g.last)
	}
	return b
}

// restore stops the server of the place, and starts one with what was known before.
func (p *place) restore(b backup, down time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock = b.clock
	e := memory.New(memory.WithClock(p.clock))
	for _, l := range b.leases {
		if left := l.end.Sub(p.clock.Now()); left > 0 {
			again(e, l.hold, left, l.token)
		}
	}
	last := driver.Hold{Key: driver.Key{Kind: driver.Lock, Name: "the last"}, Owner: "nobody"}
	again(e, last, time.Hour, b.last)
	_ = e.Release(context.Background(), driver.Release{Hold: last}) // it has just been taken
	p.begin(e, time.Now().Add(down))
}

// again takes what was taken before, with the same token.
func again(e *memory.Engine, h driver.Hold, left time.Duration, token uint64) {
	_, _ = e.Take(context.Background(), driver.Request{Key: h.Key, Owner: h.Owner, Size: 1, Weight: 1, TTL: left, Tokens: 1, Floor: token})
}
