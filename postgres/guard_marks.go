package postgres

import (
	"sync"
	"sync/atomic"
)

// tokensPerGrant is how far apart the first tokens of two grants are at least: the increment of the sequence.
const tokensPerGrant = 64

// guarded are the leases of this process with which transactions were guarded, and whose holds go on. A hold that is handed on inside of this process
// leaves no trace in the database: a transaction of the tenure before could then still be open.
type guarded struct {
	names atomic.Int32 // so that most requests need no mutex

	mu     sync.Mutex
	tokens map[string]map[uint64]int // how many guards there were, by name, of all kinds, and by token
}

// add notes a guard with a token of a name.
func (g *guarded) add(name string, token uint64) {
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

// remove takes one guard back, which was refused. Others with the token stay, whose transactions may be open.
func (g *guarded) remove(name string, token uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tokens := g.tokens[name]
	if tokens[token] > 1 {
		tokens[token]--
		return
	}
	delete(tokens, token)
	g.prune(name)
}

// prune forgets a name without guards. mu is held.
func (g *guarded) prune(name string) {
	if len(g.tokens[name]) == 0 {
		delete(g.tokens, name)
		g.names.Store(int32(len(g.tokens)))
	}
}

// forget forgets the guards of a hold that is over, given the first of its tokens. Those of other holds of the name stay: a release may be repeated
// when a later hold has been guarded.
func (g *guarded) forget(name string, first uint64) {
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
	g.prune(name)
}

// has reports whether a hold of a name has been guarded, and is not over as far as is known.
func (g *guarded) has(name string) bool {
	if g.names.Load() == 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.tokens[name]) > 0
}
