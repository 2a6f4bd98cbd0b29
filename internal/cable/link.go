package cable

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// Link is one connection through a cable. It ends when either side does, or when it is cut. It is
// safe for concurrent use.
type Link struct {
	// Client and Server are the two sides, for relay functions.
	Client, Server net.Conn

	cable *Cable
	ctx   context.Context // done when it is cut
	stop  context.CancelFunc
	mu    sync.Mutex // held while it is cut, and Server is set
}

func newLink(c *Cable, client net.Conn) *Link {
	ctx, stop := context.WithCancel(context.Background())
	return &Link{Client: client, cable: c, ctx: ctx, stop: stop}
}

// Cut closes both sides. Cutting again does nothing.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	_ = l.Client.Close()
	if l.Server != nil {
		_ = l.Server.Close()
	}
}

// Done is closed when the link is cut.
func (l *Link) Done() <-chan struct{} { return l.ctx.Done() }

// Enter waits while the cable is frozen. Afterwards bytes may be relayed until Leave, which must
// follow soon. Enter returns false if the link is cut first; then Leave must not be called.
func (l *Link) Enter() bool {
	for {
		l.cable.passing.RLock()
		thaw := l.cable.thaw
		if thaw == nil && l.ctx.Err() == nil {
			return true
		}
		l.cable.passing.RUnlock()
		select {
		case <-thaw:
		case <-l.ctx.Done():
			return false
		}
	}
}

// Leave ends Enter.
func (l *Link) Leave() { l.cable.passing.RUnlock() }

func (l *Link) run() {
	defer l.Cut()
	if l.dial() {
		l.cable.relay(l)
	}
}

// dialLimit is how long connecting to the server may take. The server is on this machine.
const dialLimit = 5 * time.Second

// dial connects to the server, and reports whether that succeeded.
func (l *Link) dial() bool {
	if !l.Enter() {
		return false
	}
	l.Leave()
	server, err := (&net.Dialer{Timeout: dialLimit}).DialContext(l.ctx, "tcp", l.cable.target)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Server = server
	if l.ctx.Err() != nil { // cut meanwhile
		_ = server.Close()
	}
	return l.ctx.Err() == nil
}

// relayAll relays everything.
func (l *Link) relayAll() {
	var other sync.WaitGroup
	other.Go(func() { l.copy(l.Client, l.Server) })
	l.copy(l.Server, l.Client)
	other.Wait()
}

// copy relays what one side sends, until it ends.
func (l *Link) copy(to io.Writer, from io.Reader) {
	defer l.Cut()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if !l.Enter() { // the end of the stream is delayed like any byte
			return
		}
		_, broken := to.Write(piece[:n])
		l.Leave()
		if err != nil || broken != nil {
			return
		}
	}
}
