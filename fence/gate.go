package fence

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Gate orders the work under one name in this process: the work of a token begins when all work of smaller tokens has
// ended, and from then on no smaller token is let in. It is for resources without a store in which a mark could be
// raised together with a write: a device, a file, a service that belongs to somebody else.
//
// Its promise is limited to the process. If several processes have gates with the same [Marks], work is refused if it
// begins after a larger token has come to any of them. But work that has begun goes on even if a larger token comes to
// another process. A resource that several processes write to needs [Do], or redisfence.
//
// One gate must serve all work on the same names. It is safe for concurrent use.
type Gate struct {
	marks Marks

	mu    sync.Mutex
	names map[string]*nameState // names with work that waits or has begun
}

// nameState is the state of one name.
type nameState struct {
	newest       uint64        // the largest token that has come
	runningToken uint64        // the token whose work has begun
	running      int           // number of calls of Do whose work has begun
	users        int           // number of calls of Do that wait or whose work has begun
	changed      chan struct{} // closed when work has ended or a larger token has come
}

// NewGate returns a gate. The marks remember earlier tokens: use [*Memory], or marks that outlive the process. With nil
// marks, all work is refused.
func NewGate(marks Marks) *Gate {
	return &Gate{marks: marks, names: map[string]*nameState{}}
}

// Do waits until no work of a smaller token is in progress for that name, raises the mark, and runs fn. The context of
// fn carries name and token for [FromContext]. Work of equal tokens may run at the same time. fn must have finished all
// work when it returns: work that it leaves to other goroutines is not ordered.
//
// Do returns the error of fn; [ErrStale] if a larger token has come before or while it waited; [ErrUnavailable]
// together with the reason if the mark could not be raised; [ErrInvalid]; or the cause of ctx if that ended while it
// waited. In all cases but the first, fn was not called.
func (g *Gate) Do(ctx context.Context, name string, token uint64, fn func(ctx context.Context) error) error {
	switch {
	case g.marks == nil:
		return missing("marks of the gate", "where the largest tokens are kept, such as new(fence.Memory)")
	case fn == nil:
		return missing("function", "the work to be done")
	}
	if err := Valid(name, token); err != nil {
		return err
	}
	p := g.addUser(name)
	defer g.removeUser(name, p)
	if err := g.begin(ctx, name, p, token); err != nil {
		return err
	}
	defer g.end(p)
	if err := g.marks.Raise(ctx, name, token); err != nil {
		if errors.Is(err, ErrStale) || errors.Is(err, ErrInvalid) {
			return err
		}
		return fmt.Errorf("fence: %w: %w", ErrUnavailable, err)
	}
	return fn(WithToken(ctx, name, token))
}

func (g *Gate) addUser(name string) *nameState {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.names[name]
	if p == nil {
		p = &nameState{changed: make(chan struct{})}
		g.names[name] = p
	}
	p.users++
	return p
}

func (g *Gate) removeUser(name string, p *nameState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(g.names, name)
	}
}

// begin waits until work of a token may begin. From then on no work of a smaller token can begin.
func (g *Gate) begin(ctx context.Context, name string, p *nameState, token uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if token > p.newest {
		p.newest = token
		p.wakeLocked()
	}
	for {
		switch {
		case token < p.newest:
			return &StaleError{Name: name, Have: p.newest, Want: token}
		case p.running == 0 || p.runningToken == token:
			p.runningToken = token
			p.running++
			return nil
		}
		changed := p.changed
		g.mu.Unlock()
		select {
		case <-changed:
			g.mu.Lock()
		case <-ctx.Done():
			g.mu.Lock()
			return context.Cause(ctx)
		}
	}
}

func (g *Gate) end(p *nameState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.running--
	p.wakeLocked()
}

// wakeLocked wakes all waiting calls.
func (p *nameState) wakeLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}
