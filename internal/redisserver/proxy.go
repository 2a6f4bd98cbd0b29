package redisserver

import (
	"sync"

	"github.com/leasehold-go/leasehold/internal/cable"
)

// Proxy stands between clients and a server, and breaks their connections in every way that a
// network can. It does what a cable does, and also understands requests and replies. After one of
// its methods has returned, it applies to every later byte. It is safe for concurrent use.
type Proxy struct {
	*cable.Cable

	swallow bool // changed while the cable halts

	mu      sync.Mutex
	hook    func(request []byte) Action
	release chan struct{}            // closed by Release
	lost    map[*cable.Link]struct{} // links on which clients miss a reply
}

// NewProxy starts a proxy in front of an address, with an address of its own. Close ends it.
func NewProxy(target string) (p *Proxy, err error) {
	p = &Proxy{release: make(chan struct{}), lost: map[*cable.Link]struct{}{}}
	p.Cable, err = cable.NewWith(target, func(l *cable.Link) { (&relay{Link: l, proxy: p}).run() })
	return p, err
}

// SwallowReplies passes requests on and drops replies, as if only one direction of the connection
// were cut.
func (p *Proxy) SwallowReplies() { p.Halt(func() { p.swallow = true }) }

// PassReplies ends SwallowReplies. It closes connections that have lost a reply, as clients would
// take the next reply for the lost one.
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

// noteLostReply notes that the client misses a reply.
func (p *Proxy) noteLostReply(l *cable.Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost[l] = struct{}{}
}

// Intercept asks a function what to do with each request that clients send from now on, one command
// at a time. The function is called for the requests of one connection in their order, and for
// those of several connections at the same time. It must not keep or change the request. Pass nil
// to pass all requests on.
func (p *Proxy) Intercept(hook func(request []byte) Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Release sends on every request on Hold, including those that Intercept's function is being asked
// about.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.release)
	p.release = make(chan struct{})
}

// decide asks the hook about a request. The channel is closed when a request on Hold may continue.
func (p *Proxy) decide(request []byte) (Action, <-chan struct{}) {
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
