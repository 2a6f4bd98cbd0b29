package redisserver

import (
	"sync"

	"github.com/leasehold-go/leasehold/internal/cable"
)

// Proxy stands between clients and a server, and breaks their connections in every way that a network can: as a cable does, and knowing requests and
// replies. What one of its methods says holds for every byte that comes after the method has returned. Many goroutines may use it.
type Proxy struct {
	*cable.Cable

	swallow bool // changed while the cable halts

	mu      sync.Mutex
	hook    func(request []byte) Action
	release chan struct{}            // closed by Release
	lost    map[*cable.Link]struct{} // clients miss a reply on these
}

// NewProxy starts a proxy in front of an address, with an address of its own. Close ends it.
func NewProxy(target string) (p *Proxy, err error) {
	p = &Proxy{release: make(chan struct{}), lost: map[*cable.Link]struct{}{}}
	p.Cable, err = cable.NewWith(target, func(l *cable.Link) { (&relay{Link: l, proxy: p}).run() })
	return p, err
}

// SwallowReplies lets requests through and throws replies away, as if only one direction of the
// cable were cut.
func (p *Proxy) SwallowReplies() { p.Halt(func() { p.swallow = true }) }

// PassReplies ends SwallowReplies. Connections that have lost a reply are closed, as what comes next on them would
// be taken for that reply.
func (p *Proxy) PassReplies() {
	p.Halt(func() {
		p.swallow = false
		p.mu.Lock()
		defer p.mu.Unlock()
		for l := range p.lost {
			l.Cut()
		}
		clear(p.lost)
	})
}

// loses notes that a client misses a reply.
func (p *Proxy) loses(l *cable.Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost[l] = struct{}{}
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
	p.Cable.Close()
	return nil
}
