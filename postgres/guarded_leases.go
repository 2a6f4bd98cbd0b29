package postgres

import (
	"sync"
	"sync/atomic"
)

// tokensPerGrant is the smallest distance between the first tokens of two grants: the increment of the sequence.
const tokensPerGrant = 64

// guardedLeases are the leases of this process that transactions have guarded and whose holds go on. A hold that is
// handed over inside this process leaves no trace in the database, so a transaction of the previous tenure could still
// be open.
type guardedLeases struct {
	names atomic.Int32 // lets most requests do without the mutex

	mu sync.Mutex
	// tokens counts the guards by name, whatever its kind, and by token.
	tokens map[string]map[uint64]int
}

// add notes a guard with a token of a name.
func (g *guardedLeases) add(name string, token uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tokens == nil {
		g.tokens = make(map[string]map[uint64]int)
	}
	if g.tokens[name] == nil {
		g.tokens[name] = make(map[uint64]int)
	}
	g.tokens[name][token]++
	g.names.Store(int32(len(g.tokens)))
}

// remove removes one guard that was refused. Other guards with the token stay, because their transactions may be open.
func (g *guardedLeases) remove(name string, token uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tokens := g.tokens[name]
	if tokens[token] > 1 {
		tokens[token]--
		return
	}
	delete(tokens, token)
	g.pruneLocked(name)
}

// pruneLocked removes a name that has no guards left.
func (g *guardedLeases) pruneLocked(name string) {
	if len(g.tokens[name]) == 0 {
		delete(g.tokens, name)
		g.names.Store(int32(len(g.tokens)))
	}
}

// forgetHold removes the guards of a hold that has ended, given its first token. Guards of other holds of the name
// stay: a release may be repeated after a later hold was guarded.
func (g *guardedLeases) forgetHold(name string, first uint64) {
	if g.names.Load() == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	tokens := g.tokens[name]
	for token := range tokens {
		if first <= token && token < first+tokensPerGrant {
			delete(tokens, token)
		}
	}
	g.pruneLocked(name)
}

// has reports whether a hold of a name was guarded and has not ended as far as is known.
func (g *guardedLeases) has(name string) bool {
	if g.names.Load() == 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.tokens[name]) > 0
}
