package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// client is a session with the servers, and the next one after it has expired.
type client struct {
	conn    *zk.Conn
	servers []string
	dialer  dialer
	limit   time.Duration // for an answer
	life    context.Context
	kill    context.CancelFunc
	ended   chan struct{} // closed when nothing of the client runs any more
	slots   chan struct{} // full while so many requests are under way
	expired func()        // called when the session is over, and with it all that is ephemeral

	mu      sync.Mutex
	up      bool // connected, with a session
	session int64
	timeout time.Duration  // that of the session, as the server has given it
	heard   driver.Instant // the leader has heard of the session after this moment: see lasting.go
	lasts   time.Duration  // for how long the session surely lasts from then on
	turn    chan struct{}  // closed when any of this changes
	spots   map[string]*spot
	armed   map[string]struct{} // the nodes that the client itself watches
	ahead   time.Duration       // by how much the clock of the servers was last seen ahead of this machine's

	renewing chan struct{} // full while the client is made to connect anew
	draining bool          // somebody waits until no request is under way
	again    bool          // the next connection is to the same server

	line      *line
	detour    detour
	dialed    time.Time
	pause     bool  // all servers have been tried
	unreached int   // how many servers of this round could not be reached
	why       error // why the last of them could not
	down      error // why none can be reached, if so
}

// mostRequests is how many requests may be under way, those that nobody waits for any more among them.
const mostRequests = 1024

// dialUp starts a client. It is of use when it is ready.
func dialUp(c config, expired func()) (*client, error) {
	cl := &client{
		servers: c.servers,
		dialer:  c.dialer,
		limit:   c.timeout,
		ended:   make(chan struct{}),
		slots:   make(chan struct{}, mostRequests),
		expired: expired,
		timeout: c.sessionTimeout,
		turn:    make(chan struct{}),
		spots:   make(map[string]*spot),
		armed:   make(map[string]struct{}),

		renewing: make(chan struct{}, 1),
	}
	if cl.dialer == nil {
		cl.dialer = new(net.Dialer).DialContext
	}
	cl.life, cl.kill = context.WithCancel(context.Background())
	conn, events, err := connect(c.servers, c.sessionTimeout, cl.event, cl.dial, &hosts{client: cl})
	if err != nil {
		cl.kill()
		return nil, err
	}
	cl.conn = conn
	go func() {
		defer close(cl.ended)
		for range events { // which the callback has told of
		}
	}()
	return cl, nil
}

// event is told by the client what happens. It must not block.
func (c *client) event(ev zk.Event) {
	if ev.Type != zk.EventSession {
		c.fire(ev.Path, ev.Type)
		return
	}
	c.mu.Lock()
	over := false
	switch ev.State {
	case zk.StateHasSession:
		c.down, c.unreached, c.detour = nil, 0, detour{}
		if c.session != c.line.session {
			c.session, c.heard = c.line.session, driver.Instant{}
		}
		c.shorten(c.line)
		c.gate(c.line)
		c.timeout = c.line.timeout
		c.fireAll() // what has happened meanwhile may have been missed
	case zk.StateExpired:
		over = c.session != 0
		c.up, c.session, c.heard = false, 0, driver.Instant{}
		clear(c.armed)
		c.fireAll()
	case zk.StateConnecting, zk.StateDisconnected:
		c.up = false
		if c.line != nil {
			c.line.gated = false // or the end of its gate would say that there is a connection
		}
	}
	c.stir()
	c.mu.Unlock()
	if over {
		c.expired()
	}
}

// enter waits for the first session, for as long as the context lasts, and logs in.
func (c *client) enter(ctx context.Context, conf config) error {
	_, bounded := ctx.Deadline()
	err := c.ready(ctx)
	for bounded && errors.Is(err, errNoSession) {
		err = c.ready(ctx)
	}
	switch {
	case err != nil && ctx.Err() != nil: // which says nothing about why
		return fmt.Errorf("%w (%w)", errNoSession, ctx.Err())
	case err != nil:
		return err
	}
	c.free()
	if conf.user == "" {
		return nil
	}
	_, _, err = request(ctx, c, func(conn *zk.Conn) (struct{}, error) {
		return struct{}{}, conn.AddAuth("digest", []byte(conf.user+":"+conf.password))
	})
	return err
}

// stir wakes those who wait for a change. mu is held.
func (c *client) stir() {
	close(c.turn)
	c.turn = make(chan struct{})
}

// ready waits for a connection with a session, and gets a slot for one request. It fails if ctx ends, or if it is known that no server can be reached.
// Nothing has been sent then.
func (c *client) ready(ctx context.Context) error {
	limit := time.NewTimer(c.limit)
	defer limit.Stop()
	for {
		c.mu.Lock()
		up, down, turn := c.up, c.down, c.turn
		c.mu.Unlock()
		switch {
		case c.life.Err() != nil:
			return errClosed
		case down != nil:
			return driver.NoEffect(fmt.Errorf("zookeeper: %w", down))
		case ctx.Err() != nil:
			return driver.NoEffect(ctx.Err())
		case up:
			select {
			case c.slots <- struct{}{}:
				return nil
			case <-ctx.Done():
			case <-limit.C:
				return errBusy
			case <-c.life.Done():
			}
			continue
		}
		select {
		case <-turn:
		case <-ctx.Done():
		case <-c.life.Done():
		case <-limit.C:
			return errNoSession
		}
	}
}

// current returns the session, and the longest lease in it.
func (c *client) current() (session int64, most time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, longest(c.timeout)
}

// connected reports whether there is a session that a server answers for.
func (c *client) connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up
}

// allows returns errShorter for leases that are longer than the session allows: it was long enough for the longest lease when the engine was opened, but
// may have gone to a server that gives shorter ones.
func (c *client) allows(ttl time.Duration) error {
	if _, most := c.current(); ttl > most {
		return errShorter
	}
	return nil
}

// close ends the session, and with it all that is ephemeral, if a server can be asked for that. It returns when nothing runs any more.
func (c *client) close() {
	c.kill()
	if !c.connected() {
		c.hangUp()
	}
	c.conn.Close()
	c.hangUp()
	<-c.ended
}

func (c *client) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line != nil {
		_ = c.line.Conn.Close()
	}
}
