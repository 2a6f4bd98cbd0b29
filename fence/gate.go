package fence

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Gate keeps in order what is done under one name in this process: the work of a token begins when all work of smaller ones has ended, and after
// that no smaller one is let in. It is for resources that have no store of their own in which a mark could be raised together with the
// writing: a device, a file, a service of somebody else.
//
// What it promises ends with the process. If several processes have gates with the same [Marks], then work that begins after a larger token has come to any of them
// is refused; but work that has begun goes on, although a larger token comes to another process. A resource that several processes write to needs [Do], or redisfence.
//
// One gate must serve all that works on the same names. It is safe for concurrent use.
type Gate struct {
	marks Marks

	mu    sync.Mutex
	names map[string]*passage // of work that waits or has begun
}

// passage is the way through the gate for one name.
type passage struct {
	newest  uint64        // the largest token that has come
	inside  uint64        // the token whose work has begun
	running int           // how much of it
	users   int           // who waits or has begun
	changed chan struct{} // is closed when somebody leaves, or a larger token comes
}

// NewGate returns a gate with marks that tell what came before: [*Memory], or others that outlive the process. With nil marks, all work is refused.
func NewGate(marks Marks) *Gate {
	return &Gate{marks: marks, names: map[string]*passage{}}
}

// Do waits until no work of a smaller token is under way for that name, raises the mark, and runs fn with a context from which [FromContext] tells name and token. Work of the
// same token may run at the same time. fn must have done everything when it returns: what it leaves to other goroutines is not kept in order.
//
// It returns the error of fn; [ErrStale] if a larger token has come before or while it waited; [ErrUnavailable] if the mark could not be raised, for the reason that is
// wrapped as well; [ErrInvalid]; or the cause of ctx if that ended while it waited. In all cases but the first fn was not called.
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
	p := g.arrive(name)
	defer g.depart(name, p)
	if err := g.enter(ctx, name, p, token); err != nil {
		return err
	}
	defer g.leave(p)
	if err := g.marks.Raise(ctx, name, token); err != nil {
		if errors.Is(err, ErrStale) || errors.Is(err, ErrInvalid) {
			return err
		}
		return fmt.Errorf("fence: %w: %w", ErrUnavailable, err)
	}
	return fn(WithToken(ctx, name, token))
}

func (g *Gate) arrive(name string) *passage {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.names[name]
	if p == nil {
		p = &passage{changed: make(chan struct{})}
		g.names[name] = p
	}
	p.users++
	return p
}

func (g *Gate) depart(name string, p *passage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(g.names, name)
	}
}

// enter waits until work of a token may begin. It lets nobody with a smaller token begin from now on.
func (g *Gate) enter(ctx context.Context, name string, p *passage, token uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if token > p.newest {
		p.newest = token
		p.change()
	}
	for {
		switch {
		case token < p.newest:
			return &StaleError{Name: name, Have: p.newest, Want: token}
		case p.running == 0 || p.inside == token:
			p.inside = token
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

func (g *Gate) leave(p *passage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.running--
	p.change()
}

// change tells those who wait to look again.
func (p *passage) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}
