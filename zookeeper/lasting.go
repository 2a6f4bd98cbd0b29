package zookeeper

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// This file knows for how long the session surely lasts. It rests on what has been answered, and on no time in which a message would have to arrive.
//
// The leader alone ends sessions: when a session's timeout has passed since the leader heard of it. A follower, which most clients are connected to, notes
// that it has heard of a client, and tells the leader with its answer to the leader's next ping. A ping, or a request, of a client is no proof: the follower
// may die before it has told the leader, and the leader may have been paused, so that it counts from long before. The leader does carry out a transaction of a
// session that has a moment left.
//
// When a client connects, however, its server asks the leader whether the session lives (REVALIDATE, or createSession for a new one), and the leader begins
// to count anew before it says yes. So a client that is let in knows: the leader has heard of the session after the client began to connect.
//
// Which leader? One that was frozen, and knows nothing of the next one, lets clients in as well. So that counts only when a transaction, sent afterwards on the
// same connection, was answered: a majority has agreed to it under the same leader, since a server that has another leader ends all its connections. One server
// of that majority is in that of each later leader, and has agreed to that leader after it agreed to the transaction. Each later leader gives all sessions
// their whole timeout when it begins, which was later still.
//
// So the session lasts for its timeout from the beginning of a connection on which a transaction was answered. When that is not enough for a lease, the
// client connects anew, to the same server, which costs no more than a request.

// mostGated is how long requests wait, when a connection has begun, for the client to set its watches again.
const mostGated = 250 * time.Millisecond

// longest is the longest lease in a session of a timeout. With two fifths of it a session need be made sure of no more often than each half of it or so.
func longest(timeout time.Duration) time.Duration { return timeout * 2 / 5 }

// cover is for how long a session of a timeout surely lasts from the beginning of a connection. The rest is for clocks whose rates differ.
func cover(timeout time.Duration) time.Duration { return timeout - timeout/50 }

// proven notes that a transaction was answered on a connection. It is nil if that is not known for sure.
func (c *client) proven(on *line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if on != nil && on.session != 0 && on.session == c.session && (c.heard.IsZero() || on.began.Since(c.heard) > 0) {
		c.heard, c.lasts = on.began, cover(on.timeout)
	}
}

// shorten notes that a connection has begun on which the session may last for less than before. mu is held.
func (c *client) shorten(on *line) {
	if lasts := cover(on.timeout); !c.heard.IsZero() && lasts+on.began.Since(c.heard) < c.lasts {
		c.heard, c.lasts = on.began, lasts
	}
}

// remains is for how long from a moment on the session surely lasts, if it is still the one given.
func (c *client) remains(session int64, from driver.Instant) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if session != c.session {
		return 0
	}
	return c.remainsLocked(from)
}

func (c *client) remainsLocked(from driver.Instant) time.Duration {
	if c.heard.IsZero() {
		return 0
	}
	return c.lasts - from.Since(c.heard)
}

// halfSure reports whether the session surely lasts for half of its time.
func (c *client) halfSure() (is bool, half time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	half = cover(c.timeout) / 2
	return c.remainsLocked(driver.Now()) >= half, half
}

// assure sees to it that the session lasts for so long from a moment on, as far as will be known when the next transaction is answered. It connects anew if
// there is no other way. If ctx ends, it returns, and the client goes on to do that for those who come next.
func (c *client) assure(ctx context.Context, from driver.Instant, d time.Duration) error {
	if c.covers(from, d) {
		return nil
	}
	select {
	case c.renewing <- struct{}{}:
	case <-ctx.Done():
		return driver.NoEffect(ctx.Err())
	case <-c.life.Done():
		return errClosed
	}
	if c.covers(from, d) {
		<-c.renewing
		return nil // by somebody else
	}
	left := make(chan struct{})
	go func() { // which ends with the client
		c.leave()
		<-c.renewing
		close(left)
	}()
	select {
	case <-left:
	case <-ctx.Done():
		return driver.NoEffect(ctx.Err())
	}
	if err := c.ready(ctx); err != nil {
		return err
	}
	c.free()
	return nil
}

// covers reports whether the session lasts for so long from a moment on: because that is proven, or will be as soon as a transaction is answered on
// the connection that there is.
func (c *client) covers(from driver.Instant, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	d = min(d, cover(c.timeout)/2) // more than that is not to be had, and no lease is so long
	if c.session != 0 && c.remainsLocked(from) >= d {
		return true
	}
	return c.up && c.line != nil && cover(c.line.timeout)-from.Since(c.line.began) >= d
}

// leave ends the connection, if there is one, once the requests that are under way have been answered, or the server would be taken for silent. Others wait
// for the next one.
func (c *client) leave() {
	c.mu.Lock()
	l := c.line
	if !c.up || l == nil {
		c.mu.Unlock()
		return
	}
	c.up, c.draining, c.again = false, true, true
	c.mu.Unlock()
	limit := time.NewTimer(c.suspicion())
	defer limit.Stop()
	for late := false; !late && len(c.slots) > 0; {
		c.mu.Lock()
		turn := c.turn
		c.mu.Unlock()
		if len(c.slots) == 0 {
			break
		}
		select {
		case <-turn:
		case <-limit.C:
			late = true
		case <-c.life.Done():
			late = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = false
	_ = l.Conn.Close() // the client hears of it, and connects again
}

// free gives a slot back.
func (c *client) free() {
	<-c.slots
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining && len(c.slots) == 0 {
		c.stir()
	}
}

// gate has requests wait until the client has set its watches again on a new connection, if it has any. The client reads the number of the last
// transaction that it knows of for that, without a lock, while answers change it: if an answer came first, it would miss what has happened before. mu is held.
func (c *client) gate(l *line) {
	c.up = len(c.armed) == 0
	if l.gated = !c.up; l.gated {
		time.AfterFunc(mostGated, func() { c.openGate(l) })
	}
}

// openGate ends a gate.
func (c *client) openGate(l *line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.gated && c.line == l {
		l.gated, c.up = false, true
		c.stir()
	}
}
