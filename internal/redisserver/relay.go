package redisserver

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
)

// relay is a connection through a Proxy. It ends when either side does, or when it is cut.
type relay struct {
	proxy  *Proxy
	client net.Conn
	ctx    context.Context // done when the connection is cut
	stop   context.CancelFunc
	lost   bool // the client misses a reply; guarded by the gate

	mu        sync.Mutex
	server    net.Conn // nil before there is one
	sent      int      // requests that get a reply
	doomed    int      // which reply the client is not to see, and is to be the last; 0 is none
	doomedAny bool     // it is the next one, whichever that is
}

func newRelay(p *Proxy, client net.Conn) *relay {
	ctx, stop := context.WithCancel(context.Background())
	return &relay{proxy: p, client: client, ctx: ctx, stop: stop}
}

// cut closes the connection on both sides. Cutting it again does nothing.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop()
	_ = r.client.Close()
	if r.server != nil {
		_ = r.server.Close()
	}
}

func (r *relay) run() {
	defer r.cut()
	if !r.dial() {
		return
	}
	var down sync.WaitGroup
	down.Go(r.down)
	r.up()
	down.Wait()
}

// dial connects to the server and reports whether that went well.
func (r *relay) dial() bool {
	if !r.proxy.enter(r.ctx) {
		return false
	}
	r.proxy.gate.RUnlock()
	server, err := (&net.Dialer{Timeout: CommandLimit}).DialContext(r.ctx, "tcp", r.proxy.target)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = server
	if r.ctx.Err() != nil { // cut meanwhile
		_ = server.Close()
	}
	return r.ctx.Err() == nil
}

// up passes requests on, one by one.
func (r *relay) up() {
	defer r.cut()
	var stream frames
	var request []byte
	piece := make([]byte, 64<<10)
	for {
		n, err := r.client.Read(piece)
		for rest := piece[:n]; len(rest) > 0; {
			size, ends := stream.next(rest)
			request = append(request, rest[:size]...)
			rest = rest[size:]
			if !ends {
				continue
			}
			if !r.request(request) {
				return
			}
			request = request[:0]
		}
		if err != nil {
			if r.proxy.enter(r.ctx) { // the end takes its time like any byte
				r.proxy.gate.RUnlock()
			}
			return
		}
	}
}

// request does with a request what the hook says, and reports whether the connection goes on.
func (r *relay) request(request []byte) bool {
	action, release := r.proxy.judge(request)
	switch action {
	case CutBefore:
		return false
	case Hold:
		select {
		case <-release:
		case <-r.ctx.Done():
		}
	}
	r.count(request, action == CutAfter)
	if !r.proxy.enter(r.ctx) {
		return false
	}
	defer r.proxy.gate.RUnlock()
	_, err := r.server.Write(request)
	return err == nil
}

// withoutReply are the commands that may get pushed messages instead of a reply, or several replies.
var withoutReply = []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"}

// count counts a request, so that its reply is known when it comes.
func (r *relay) count(request []byte, doom bool) {
	words := Words(request)
	any := len(words) > 0 && slices.Contains(withoutReply, strings.ToUpper(words[0]))
	r.mu.Lock()
	defer r.mu.Unlock()
	if !any {
		r.sent++
	}
	if doom {
		r.doomed, r.doomedAny = r.sent, any
	}
}

// down passes replies on.
func (r *relay) down() {
	defer r.cut()
	var stream frames
	replies := 0
	piece := make([]byte, 64<<10)
	for {
		n, err := r.server.Read(piece)
		keep, last := 0, false
		for at := 0; at < n && !last; {
			size, ends := stream.next(piece[at:n])
			at += size
			pushed := stream.kind == '>'
			doomed := r.isDoomed(replies+1, pushed)
			if !doomed {
				keep = at
			}
			if ends && !pushed {
				replies++
			}
			last = ends && doomed
		}
		if !r.reply(piece[:keep], err != nil) || last || err != nil {
			return
		}
	}
}

// isDoomed reports whether the client is not to see the value that the stream of replies is in.
func (r *relay) isDoomed(reply int, pushed bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doomedAny || r.doomed > 0 && reply >= r.doomed && !pushed
}

// reply passes bytes on to the client, and reports whether the connection goes on. The end of the connection
// is lost like any reply.
func (r *relay) reply(b []byte, end bool) bool {
	if !r.proxy.enter(r.ctx) {
		return false
	}
	swallow := r.proxy.swallow
	if swallow {
		r.lost = r.lost || len(b) > 0 || end
	} else {
		_, _ = r.client.Write(b) // if the client is gone, up finds out when it has sent all that came before
	}
	r.proxy.gate.RUnlock()
	if swallow && end {
		<-r.ctx.Done()
	}
	return true
}
