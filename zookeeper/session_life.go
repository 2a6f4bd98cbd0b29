package zookeeper

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// This file determines how long the session is certain to last. It relies on answers that have arrived, and on no
// assumption about how long messages take.
//
// Only the leader ends sessions: when a session's timeout has passed since the leader heard of it. Most clients are
// connected to a follower. It notes that it has heard from a client, and tells the leader in its answer to the leader's
// next ping. So the answer to a client's ping, or to a read, proves nothing: the follower may die before it has told
// the leader, and the leader may have been paused, so that it counts from long before. And the leader does execute a
// transaction of a session that has only a moment left.
//
// When a client connects, however, its server asks the leader whether the session is alive (REVALIDATE, or
// createSession for a new one), and the leader restarts the timeout before it says yes. So a client that is accepted
// knows: the leader has heard of the session after the client began to connect.
//
// Which leader? One that was frozen, and knows nothing of its successor, accepts clients as well. So a connection
// counts only once a transaction that was sent on it has been answered: a majority has accepted the transaction under
// the same leader, since a server that gets another leader closes all its connections. Every later leader has a
// majority that shares a server with this one, and that server accepted the later leader after it had accepted the
// transaction. Every leader gives all sessions their whole timeout when it starts, which was later still.
//
// So the session lasts for its timeout from the start of a connection on which a transaction was answered. If that is
// not enough for a lease, the client reconnects, to the same server, which costs no more than a request.

// maxWatchReset is how long requests wait on a new connection for the library to set its watches again.
const maxWatchReset = 250 * time.Millisecond

// maxTTL returns the longest ttl that a session timeout allows. With two fifths of it, the session must be made certain
// at most about twice in a timeout.
func maxTTL(timeout time.Duration) time.Duration { return timeout * 2 / 5 }

// certainLife returns how long a session is certain to last from the start of a connection. The fiftieth that is
// missing allows for clocks whose rates differ.
func certainLife(timeout time.Duration) time.Duration { return timeout - timeout/50 }

// noteProof notes that a transaction was answered on a connection, or does nothing if on is nil, since the connection
// is not certain.
func (c *client) noteProof(on *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if on == nil || on.session == 0 || on.session != c.session {
		return
	}
	if c.certainFrom.IsZero() || on.began.Since(c.certainFrom) > 0 {
		c.certainFrom, c.certainFor = on.began, certainLife(on.timeout)
	}
}

// noteNewConnectionLocked notes a new connection, on which the session may last less long than on the one before. mu
// must be held.
func (c *client) noteNewConnectionLocked(on *connection) {
	if lasts := certainLife(on.timeout); !c.certainFrom.IsZero() && lasts+on.began.Since(c.certainFrom) < c.certainFor {
		c.certainFrom, c.certainFor = on.began, lasts
	}
}

// certainRemaining returns how long after from the session is certain to last. It is 0 if the session is
// not the one given.
func (c *client) certainRemaining(session int64, from driver.Instant) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if session != c.session {
		return 0
	}
	return c.certainRemainingLocked(from)
}

func (c *client) certainRemainingLocked(from driver.Instant) time.Duration {
	if c.certainFrom.IsZero() {
		return 0
	}
	return c.certainFor - from.Since(c.certainFrom)
}

// hasHalfLeft reports whether the session is certain to last for half of its timeout, and how long that is.
func (c *client) hasHalfLeft() (is bool, half time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	half = certainLife(c.timeout) / 2
	return c.certainRemainingLocked(driver.Now()) >= half, half
}

// ensureSession makes sure that the session lasts for d after from, once the next transaction is answered.
// It makes the client reconnect if there is no other way. If ctx ends, it returns, and the client still reconnects for
// those who come next.
func (c *client) ensureSession(ctx context.Context, from driver.Instant, d time.Duration) error {
	if c.willLast(from, d) {
		return nil
	}
	select {
	case c.reconnecting <- struct{}{}:
	case <-ctx.Done():
		return driver.NoEffect(ctx.Err())
	case <-c.ctx.Done():
		return errClosed
	}
	if c.willLast(from, d) {
		<-c.reconnecting
		return nil // somebody else has done it
	}
	left := make(chan struct{})
	go func() { // ends with the client at the latest
		c.reconnectWhenIdle()
		<-c.reconnecting
		close(left)
	}()
	select {
	case <-left:
	case <-ctx.Done():
		return driver.NoEffect(ctx.Err())
	}
	if err := c.beginRequest(ctx); err != nil {
		return err
	}
	c.endRequest()
	return nil
}

// willLast reports whether the session lasts for d after from: because that is certain, or because it will
// be as soon as a transaction is answered on the present connection.
func (c *client) willLast(from driver.Instant, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	d = min(d, certainLife(c.timeout)/2) // reconnecting gives no more, and no lease is longer
	if c.session != 0 && c.certainRemainingLocked(from) >= d {
		return true
	}
	return c.isUp && c.connection != nil && certainLife(c.connection.timeout)-from.Since(c.connection.began) >= d
}

// reconnectWhenIdle closes the connection, if there is one, once the requests in flight have been answered, or after
// silenceLimit. New requests wait for the next connection.
func (c *client) reconnectWhenIdle() {
	c.mu.Lock()
	cn := c.connection
	if !c.isUp || cn == nil {
		c.mu.Unlock()
		return
	}
	c.isUp, c.draining, c.reconnectToSame = false, true, true
	c.mu.Unlock()
	limit := time.NewTimer(c.silenceLimit())
	defer limit.Stop()
	for late := false; !late && len(c.inFlight) > 0; {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if len(c.inFlight) == 0 {
			break
		}
		select {
		case <-changed:
		case <-limit.C:
			late = true
		case <-c.ctx.Done():
			late = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = false
	_ = cn.Conn.Close() // the library notices, and reconnects
}

// endRequest ends what beginRequest has begun.
func (c *client) endRequest() {
	<-c.inFlight
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining && len(c.inFlight) == 0 {
		c.wakeLocked()
	}
}

// holdRequestsLocked makes requests wait until the library has set its watches again on a new connection, if it has
// any. To do so, the library reads the number of the last transaction that it has seen, without a lock, while answers
// change it. If an answer came first, changes before it would be missed. mu must be held.
func (c *client) holdRequestsLocked(cn *connection) {
	c.isUp = len(c.watchedPaths) == 0
	if cn.awaitsWatches = !c.isUp; cn.awaitsWatches {
		time.AfterFunc(maxWatchReset, func() { c.admitRequests(cn) })
	}
}

// admitRequests ends the wait of holdRequestsLocked, if cn is still the connection.
func (c *client) admitRequests(cn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cn.awaitsWatches && c.connection == cn {
		cn.awaitsWatches, c.isUp = false, true
		c.wakeLocked()
	}
}
