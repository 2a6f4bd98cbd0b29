package redisserver

import (
	"slices"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/internal/cable"
)

// relay relays requests and replies of a connection through a Proxy.
type relay struct {
	*cable.Link
	proxy *Proxy

	mu       sync.Mutex
	sent     int  // requests that get a reply
	dropped  int  // number of the reply that the client must not see, and that ends the connection; 0 is none
	dropNext bool // that reply is the next one, whichever it is
}

func (r *relay) run() {
	var down sync.WaitGroup
	down.Go(r.relayReplies)
	r.relayRequests()
	down.Wait()
}

// relayRequests passes requests on, one by one.
func (r *relay) relayRequests() {
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
			if r.Enter() { // the end of the stream is delayed like any byte
				r.Leave()
			}
			return
		}
	}
}

// request applies the hook's decision to a request, and reports whether the connection goes on.
func (r *relay) request(request []byte) bool {
	action, release := r.proxy.decide(request)
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

// withoutReply lists the commands that may get pushed messages instead of a reply, or several
// replies.
var withoutReply = []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"}

// count counts a request, so that its reply can be recognized. With drop, its reply is dropped.
func (r *relay) count(request []byte, drop bool) {
	words := Words(request)
	any := len(words) > 0 && slices.Contains(withoutReply, strings.ToUpper(words[0]))
	r.mu.Lock()
	defer r.mu.Unlock()
	if !any {
		r.sent++
	}
	if drop {
		r.dropped, r.dropNext = r.sent, any
	}
}

// relayReplies passes replies on.
func (r *relay) relayReplies() {
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
			doomed := r.isDropped(replies+1, pushed)
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

// isDropped reports whether the client must not see the present value of the stream of replies.
func (r *relay) isDropped(reply int, pushed bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropNext || r.dropped > 0 && reply >= r.dropped && !pushed
}

// reply passes bytes on to the client, and reports whether the connection goes on. SwallowReplies
// and Freeze also affect the end of the connection.
func (r *relay) reply(b []byte, end bool) bool {
	if !r.Enter() {
		return false
	}
	swallow := r.proxy.swallow
	switch {
	case !swallow:
		_, _ = r.Client.Write(b) // if the client is gone, relayRequests notices after sending everything before
	case len(b) > 0 || end:
		r.proxy.noteLostReply(r.Link)
	}
	r.Leave()
	if swallow && end {
		<-r.Done()
	}
	return true
}
