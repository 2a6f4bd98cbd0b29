package redisserver

import (
	"slices"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/internal/cable"
)

// relay passes on requests and replies of a connection through a Proxy.
type relay struct {
	*cable.Link
	proxy *Proxy

	mu        sync.Mutex
	sent      int  // requests that get a reply
	doomed    int  // which reply the client is not to see, and is to be the last; 0 is none
	doomedAny bool // it is the next one, whichever that is
}

func (r *relay) run() {
	var down sync.WaitGroup
	down.Go(r.down)
	r.up()
	down.Wait()
}

// up passes requests on, one by one.
func (r *relay) up() {
	defer r.Cut()
	var stream frames
	var request []byte
	piece := make([]byte, 64<<10)
	for {
		n, err := r.Client.Read(piece)
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
			if r.Enter() { // the end takes its time like any byte
				r.Leave()
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
		case <-r.Done():
		}
	}
	r.count(request, action == CutAfter)
	if !r.Enter() {
		return false
	}
	defer r.Leave()
	_, err := r.Server.Write(request)
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
	defer r.Cut()
	var stream frames
	replies := 0
	piece := make([]byte, 64<<10)
	for {
		n, err := r.Server.Read(piece)
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
	if !r.Enter() {
		return false
	}
	swallow := r.proxy.swallow
	switch {
	case !swallow:
		_, _ = r.Client.Write(b) // if the client is gone, up finds out when it has sent all that came before
	case len(b) > 0 || end:
		r.proxy.loses(r.Link)
	}
	r.Leave()
	if swallow && end {
		<-r.Done()
	}
	return true
}
