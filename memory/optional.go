package memory

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// Downgrade implements [driver.Engine].
func (e *Engine) Downgrade(_ context.Context, h driver.Hold) error {
	s := e.shard(h.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	en, held := e.findHoldLocked(s, &h, e.now())
	if held == nil {
		return driver.ErrNotHeld
	}
	held.mode = driver.Shared
	e.serveLocked(s, h.Name, en)
	return nil
}

// Raise implements [quorumnode.Node].
func (e *Engine) Raise(_ context.Context, r quorumnode.Raise) error {
	s := e.shard(r.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, h := e.findHoldLocked(s, &driver.Hold{Key: r.Key, Owner: r.Owner}, e.now())
	if h == nil || h.mode != driver.Exclusive || h.token > r.Token {
		return driver.ErrNotHeld
	}
	h.token, h.tokens = r.Token, int32(r.Tokens)
	last := r.Token + uint64(r.Tokens) - 1
	for now := e.tokens.Load(); now < last && !e.tokens.CompareAndSwap(now, last); now = e.tokens.Load() {
	}
	return nil
}

// ForceRelease implements [driver.Operator]. Any token of the holder's range names the holder.
func (e *Engine) ForceRelease(_ context.Context, k driver.Key, token uint64) error {
	s := e.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	en := s.entries[k.Name]
	if en == nil {
		return driver.ErrNotHeld
	}
	e.expireAndServeLocked(s, k.Name, en, e.now())
	err := driver.ErrNotHeld
	for i := range en.holds {
		if h := &en.holds[i]; h.token <= token && token-h.token < uint64(h.tokens) {
			en.remove(h)
			err = nil
			break
		}
	}
	e.serveLocked(s, k.Name, en)
	s.removeIfEmptyLocked(k.Name, en)
	return err
}
