package redisserver

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/leasehold-go/leasehold/internal/ports"
)

// Proxy stands between clients and a server, and breaks their connections in every way that a network can. What one of its methods
// says holds for every byte that comes after the method has returned. Many goroutines may use it.
type Proxy struct {
	target string
	port   int

	// gate is held shared while bytes are passed on, and alone to change what happens to them.
	gate    sync.RWMutex
	thaw    chan struct{} // closed by Thaw; nil if not frozen
	swallow bool

	mu       sync.Mutex
	hook     func(request []byte) Action
	release  chan struct{} // closed by Release
	listener net.Listener  // nil while connections are refused
	accepts  chan struct{} // closed when no connection of listener will be added any more
	relays   map[*relay]struct{}
	closed   bool
	wg       sync.WaitGroup // of relays
}

// NewProxy starts a proxy in front of an address, with an address of its own. Close ends it.
func NewProxy(target string) (*Proxy, error) {
	p := &Proxy{target: target, release: make(chan struct{}), relays: make(map[*relay]struct{})}
	var err error
	for range portRetries {
		if p.port, err = ports.Reserve(); err != nil {
			return nil, err
		}
		if err = p.Allow(); err == nil {
			return p, nil
		}
		ports.Release(p.port)
	}
	return nil, err
}

// Addr returns the address to connect to. It stays the same.
func (p *Proxy) Addr() string { return ports.Address(p.port) }

// Freeze lets no byte through in either direction, as if the cable were cut: connections stay open, and new ones can be
// made. It waits for bytes that are just being passed on.
func (p *Proxy) Freeze() {
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.thaw == nil {
		p.thaw = make(chan struct{})
	}
}

// Thaw ends a Freeze. What was sent meanwhile arrives now.
func (p *Proxy) Thaw() {
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.thaw != nil {
		close(p.thaw)
		p.thaw = nil
	}
}

// enter waits until nothing is frozen, and then holds the gate shared. It returns false, without the gate, if the context is
// done first.
func (p *Proxy) enter(ctx context.Context) bool {
	for {
		p.gate.RLock()
		thaw := p.thaw
		if thaw == nil && ctx.Err() == nil {
			return true
		}
		p.gate.RUnlock()
		select {
		case <-thaw:
		case <-ctx.Done():
			return false
		}
	}
}

// Cut closes all connections at once, those of clients and those to the server. New ones can be made.
func (p *Proxy) Cut() { p.cut(func(*relay) bool { return true }) }

func (p *Proxy) cut(which func(*relay) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.relays {
		if which(r) {
			r.cut()
		}
	}
}

// Refuse lets nobody connect any more, as if the server were down. Connections that are there go on.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	listener, accepts := p.listener, p.accepts
	p.listener = nil
	p.mu.Unlock()
	if listener != nil {
		_ = listener.Close() // nothing that could be done about it
	}
	<-accepts
}

// Allow ends a Refuse.
func (p *Proxy) Allow() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("redisserver: the proxy at %s is closed: make a new one", p.Addr())
	}
	if p.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", p.Addr())
	if err != nil {
		return fmt.Errorf("redisserver: the proxy cannot listen: %w", err)
	}
	p.listener, p.accepts = listener, make(chan struct{})
	go p.accept(listener, p.accepts)
	return nil
}

func (p *Proxy) accept(listener net.Listener, done chan struct{}) {
	defer close(done)
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		r := newRelay(p, client)
		p.mu.Lock()
		p.relays[r] = struct{}{}
		p.wg.Go(func() {
			r.run()
			p.mu.Lock()
			delete(p.relays, r)
			p.mu.Unlock()
		})
		p.mu.Unlock()
	}
}

// SwallowReplies lets requests through and throws replies away, as if only one direction of the
// cable were cut.
func (p *Proxy) SwallowReplies() {
	p.gate.Lock()
	defer p.gate.Unlock()
	p.swallow = true
}

// PassReplies ends SwallowReplies. Connections that have lost a reply are closed, as what comes next on them would
// be taken for that reply.
func (p *Proxy) PassReplies() {
	p.gate.Lock()
	defer p.gate.Unlock()
	p.swallow = false
	p.cut(func(r *relay) bool { return r.lost })
}

// Intercept asks a function what to do with each request that clients send from now on, one command at a time. Requests of one connection
// come in their order, those of several at the same time. The function must not keep or change the request. Give
// nil to pass all on.
func (p *Proxy) Intercept(hook func(request []byte) Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Release sends on every request that Intercept's function was asked about and is on Hold, or
// will be when the function returns.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.release)
	p.release = make(chan struct{})
}

// judge asks the hook about a request. The channel is closed when a request on Hold is to go on.
func (p *Proxy) judge(request []byte) (Action, <-chan struct{}) {
	p.mu.Lock()
	hook, release := p.hook, p.release
	p.mu.Unlock()
	if hook == nil {
		return Pass, release
	}
	return hook(request), release
}

// Close closes the proxy and all its connections. Closing it again does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		return nil
	}
	p.Refuse()
	p.Cut()
	p.wg.Wait()
	ports.Release(p.port)
	return nil
}
