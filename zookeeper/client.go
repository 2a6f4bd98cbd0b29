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

// client is a session with the servers, and the next one after it has expired. It is safe for concurrent use.
type client struct {
	conn           *zk.Conn
	servers        []string
	dialer         dialer
	requestTimeout time.Duration
	ctx            context.Context
	cancel         context.CancelFunc
	done           chan struct{} // closed when no goroutine of the client runs any more
	inFlight       chan struct{} // has one element for each request in flight
	onExpired      func()        // called when the session has expired, and all that was ephemeral in it is gone

	mu           sync.Mutex
	isUp         bool // connected, with a session, and requests may be sent
	session      int64
	timeout      time.Duration  // of the session, as the server has given it
	certainFrom  driver.Instant // the leader has restarted the session's timeout after this moment: see session_life.go
	certainFor   time.Duration  // how long the session is certain to last, counted from certainFrom
	changed      chan struct{}  // closed, and replaced, when any of the fields above changes
	watches      map[string]*watch
	watchedPaths map[string]struct{} // nodes on which the library has a watch
	clockAhead   time.Duration       // how far the clock of the servers was ahead of this machine's when last seen

	reconnecting    chan struct{} // full while somebody makes the client reconnect
	draining        bool          // somebody waits until no request is in flight
	reconnectToSame bool          // the next connection goes to the same server

	connection  *connection
	shorter     shorterSession
	dialedAt    time.Time
	roundOver   bool  // all servers have been tried without success
	unreached   int   // servers that could not be reached since the last round
	lastDialErr error // the last error of dialing
	unreachable error // why no server can be reached; nil if one may be
}

// maxInFlight limits requests in flight, including those whose callers have given up.
const maxInFlight = 1024

// startClient starts a client. It connects in the background.
func startClient(c config, expired func()) (*client, error) {
	cl := &client{
		servers:        c.servers,
		dialer:         c.dialer,
		requestTimeout: c.timeout,
		done:           make(chan struct{}),
		inFlight:       make(chan struct{}, maxInFlight),
		onExpired:      expired,
		timeout:        c.sessionTimeout,
		changed:        make(chan struct{}),
		watches:        make(map[string]*watch),
		watchedPaths:   make(map[string]struct{}),

		reconnecting: make(chan struct{}, 1),
	}
	if cl.dialer == nil {
		cl.dialer = new(net.Dialer).DialContext
	}
	cl.ctx, cl.cancel = context.WithCancel(context.Background())
	conn, events, err := connect(c.servers, c.sessionTimeout, cl.onEvent, cl.dial, &hosts{client: cl})
	if err != nil {
		cl.cancel()
		return nil, err
	}
	cl.conn = conn
	go func() {
		defer close(cl.done)
		for range events { // the callback has handled them
		}
	}()
	return cl, nil
}

// onEvent is called by the library for each event. It must not block.
func (c *client) onEvent(ev zk.Event) {
	if ev.Type != zk.EventSession {
		c.notify(ev.Path, ev.Type)
		return
	}
	c.mu.Lock()
	over := false
	switch ev.State {
	case zk.StateHasSession:
		c.unreachable, c.unreached, c.shorter = nil, 0, shorterSession{}
		if c.session != c.connection.session {
			c.session, c.certainFrom = c.connection.session, driver.Instant{}
		}
		c.noteNewConnectionLocked(c.connection)
		c.holdRequestsLocked(c.connection)
		c.timeout = c.connection.timeout
		c.notifyAllLocked() // changes may have been missed meanwhile
	case zk.StateExpired:
		over = c.session != 0
		c.isUp, c.session, c.certainFrom = false, 0, driver.Instant{}
		clear(c.watchedPaths)
		c.notifyAllLocked()
	case zk.StateConnecting, zk.StateDisconnected:
		c.isUp = false
		if c.connection != nil {
			c.connection.awaitsWatches = false // otherwise admitRequests would mark the client as connected
		}
	}
	c.wakeLocked()
	c.mu.Unlock()
	if over {
		c.onExpired()
	}
}

// login waits for the first session, for as long as ctx lasts, or for the request timeout if ctx has no deadline. Then
// it sends the user and the password, if there are any.
func (c *client) login(ctx context.Context, conf config) error {
	_, bounded := ctx.Deadline()
	err := c.beginRequest(ctx)
	for bounded && errors.Is(err, errNoSession) {
		err = c.beginRequest(ctx)
	}
	switch {
	case err != nil && ctx.Err() != nil: // the end of ctx alone does not say why there is no session
		return fmt.Errorf("%w (%w)", errNoSession, ctx.Err())
	case err != nil:
		return err
	}
	c.endRequest()
	if conf.user == "" {
		return nil
	}
	_, _, err = request(ctx, c, func(conn *zk.Conn) (struct{}, error) {
		return struct{}{}, conn.AddAuth("digest", []byte(conf.user+":"+conf.password))
	})
	return err
}

// wakeLocked wakes all who wait for a change of the client. mu must be held.
func (c *client) wakeLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// beginRequest waits for a connection with a session, and counts one more request in flight, until endRequest. It fails
// if ctx ends, or if no server can be reached; then nothing has been sent.
func (c *client) beginRequest(ctx context.Context) error {
	limit := time.NewTimer(c.requestTimeout)
	defer limit.Stop()
	for {
		c.mu.Lock()
		up, unreachable, changed := c.isUp, c.unreachable, c.changed
		c.mu.Unlock()
		switch {
		case c.ctx.Err() != nil:
			return errClosed
		case unreachable != nil:
			return driver.NoEffect(fmt.Errorf("zookeeper: %w", unreachable))
		case ctx.Err() != nil:
			return driver.NoEffect(ctx.Err())
		case up:
			select {
			case c.inFlight <- struct{}{}:
				return nil
			case <-ctx.Done():
			case <-limit.C:
				return errBusy
			case <-c.ctx.Done():
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-c.ctx.Done():
		case <-limit.C:
			return errNoSession
		}
	}
}

// current returns the session, and the longest ttl that it allows.
func (c *client) current() (session int64, longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, maxTTL(c.timeout)
}

// isConnected reports whether there is a session, and a server that serves it.
func (c *client) isConnected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isUp
}

// checkTTL returns errShorter if a lease is too long for the session. The session allowed the longest ttl when the
// engine was opened, but may have moved to a server with shorter timeouts.
func (c *client) checkTTL(ttl time.Duration) error {
	if _, longest := c.current(); ttl > longest {
		return errShorter
	}
	return nil
}

// close ends the session, and with it everything ephemeral, if a server can be reached. It returns when no goroutine of
// the client runs any more.
func (c *client) close() {
	c.cancel()
	if !c.isConnected() {
		c.closeConnection()
	}
	c.conn.Close()
	c.closeConnection()
	<-c.done
}

func (c *client) closeConnection() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.connection != nil {
		_ = c.connection.Conn.Close()
	}
}
