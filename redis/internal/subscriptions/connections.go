// Package subscriptions subscribes the waiters of an engine to channels. It keeps as few connections for messages as it
// can: one, or one for each server of a Cluster.
package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// ErrNotSubscribed says that the server refuses to subscribe, cannot be reached, or takes too long. It may
// also wrap the server's error.
var ErrNotSubscribed = errors.New("not subscribed")

// Connections are an engine's connections for messages: one for all messages, or one for each server of a Cluster. A
// connection exists while somebody waits, and a little longer. They are safe for concurrent use.
//
// A connection that fails is closed, and not used again. Its waiters are woken, subscribe on a new one, and then ask
// the server, so they miss no grant. The go-redis client may also replace a connection without an error that we see:
// when the server announces maintenance, or after it failed to unsubscribe from an idle channel. It subscribes to the
// same channels again, and the server confirms channels that are open already. Their waiters are woken, too, and ask.
type Connections struct {
	client    redis.UniversalClient
	errClosed error
	onMessage func(channel, payload string)

	work sync.WaitGroup

	closed       atomic.Bool
	openChannels atomic.Int32 // how many channels are open

	mu       sync.Mutex
	retryAt  time.Time // when to subscribe again after a server refused
	byServer map[any]*connection
	channels map[string]*channel
}

// Subscriber is a waiter as [Connections] knows it. Its functions must be set. They are called with the lock of the
// connections held, so they must return at once and not call the connections.
type Subscriber struct {
	Wake         func() // an empty message came
	MessagesLost func() // messages may have been lost: subscribe again, and ask the server

	// These are guarded by Connections.mu.
	channel *channel // where it is notified
	gone    bool     // it needs no more notifications
}

// channel is a channel on which subscribers are notified. Its fields are guarded by Connections.mu.
type channel struct {
	name        string
	connection  *connection
	subscribers map[*Subscriber]struct{}
	requestedAt time.Time
	ready       chan struct{} // closed when the server has confirmed, or err is set
	open        bool          // the server has confirmed
	err         error
	idleTimer   *time.Timer
}

const (
	// channelIdleTime is how long a channel without subscribers stays open.
	channelIdleTime = 10 * time.Second
	// pingAfter is after how much silence a connection is tested.
	pingAfter = 5 * time.Second
	// confirmTimeout is how long a waiter waits for the server to confirm a channel. Then it polls, and subscribes
	// again later: a dead connection for messages must not hold up requests.
	confirmTimeout = 300 * time.Millisecond
	// retryAfterDenied is how long after a denial we try to subscribe again.
	retryAfterDenied = time.Minute
	// retryAfterRefused is the same after other refusals: the server is loading its data, or has too many clients.
	retryAfterRefused = time.Second
)

// New returns connections of a client. Once they are closed, Subscribe returns errClosed. Messages that are not empty
// are given to onMessage, in the order of each connection.
func New(client redis.UniversalClient, errClosed error, onMessage func(channel, payload string)) *Connections {
	return &Connections{
		client: client, errClosed: errClosed, onMessage: onMessage,
		byServer: map[any]*connection{}, channels: map[string]*channel{},
	}
}

// IsClosed reports whether Close was called.
func (s *Connections) IsClosed() bool { return s.closed.Load() }

// AnyOpen reports whether any channel is open.
func (s *Connections) AnyOpen() bool { return s.openChannels.Load() > 0 }

// IsOpen reports whether a channel is open.
func (s *Connections) IsOpen(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[name]
	return c != nil && c.open
}

// Subscribe subscribes w to a channel, and to no other. It returns when the server has confirmed. Channels with the
// same server, any comparable value, share a connection: it goes to where the client finds the first of them. So all of
// them must be sharded or none, and if they are, they must be on the same server.
//
// It returns ErrNotSubscribed if the server refuses, cannot be reached, or takes too long. Other errors are only those
// of ctx and of connections that are closed: the request itself will show whether the server works.
func (s *Connections) Subscribe(ctx context.Context, w *Subscriber, name string, server any, sharded bool) error {
	s.mu.Lock()
	if s.closed.Load() {
		s.mu.Unlock()
		return s.errClosed
	}
	c := s.channels[name]
	if w.gone || c == nil && time.Now().Before(s.retryAt) {
		s.mu.Unlock()
		return ErrNotSubscribed
	}
	if c == nil {
		c = s.addLocked(name, server, sharded)
	}
	if w.channel != c {
		s.detachLocked(w)
		w.channel = c
		c.subscribers[w] = struct{}{}
	}
	if c.idleTimer != nil {
		c.idleTimer.Stop()
		c.idleTimer = nil
	}
	s.mu.Unlock()
	if err := c.awaitConfirmed(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.err == nil || errors.Is(c.err, s.errClosed) {
		return c.err
	}
	return fmt.Errorf("%w: %w", ErrNotSubscribed, c.err)
}

// awaitConfirmed waits until the server has answered.
func (c *channel) awaitConfirmed(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	default:
	}
	late := time.NewTimer(confirmTimeout - time.Since(c.requestedAt))
	defer late.Stop()
	select {
	case <-c.ready:
		return nil
	case <-late.C:
		return ErrNotSubscribed
	case <-ctx.Done():
		return driver.NoEffect(ctx.Err())
	}
}

// addLocked adds a channel, and a connection if there is none for the server.
func (s *Connections) addLocked(name string, server any, sharded bool) *channel {
	conn := s.byServer[server]
	isNew := conn == nil
	if isNew {
		conn = &connection{connections: s, server: server, sharded: sharded, channels: map[string]*channel{}}
		if sharded {
			conn.pubsub = s.client.SSubscribe(context.Background())
		} else {
			conn.pubsub = s.client.Subscribe(context.Background())
		}
		s.byServer[server] = conn
	}
	c := &channel{
		name: name, connection: conn,
		subscribers: map[*Subscriber]struct{}{}, requestedAt: time.Now(), ready: make(chan struct{}),
	}
	s.channels[name], conn.channels[name] = c, c
	if isNew {
		s.work.Go(func() { conn.run(name) })
	} else {
		s.work.Go(func() { conn.add(name) })
	}
	return c
}

// Unsubscribe ends the notifications of w for good, even if an abandoned Subscribe of it still goes on.
func (s *Connections) Unsubscribe(w *Subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.gone = true
	s.detachLocked(w)
}

// detachLocked removes w from its channel.
func (s *Connections) detachLocked(w *Subscriber) {
	c := w.channel
	if c == nil {
		return
	}
	w.channel = nil
	delete(c.subscribers, w)
	if len(c.subscribers) == 0 && !c.connection.closed && c.idleTimer == nil {
		c.idleTimer = time.AfterFunc(channelIdleTime, func() { s.closeIdle(c) })
	}
}

// closeIdle closes a channel that has no subscribers.
func (s *Connections) closeIdle(c *channel) {
	s.mu.Lock()
	conn := c.connection
	if conn.closed || len(c.subscribers) > 0 || s.channels[c.name] != c {
		s.mu.Unlock()
		return
	}
	if len(conn.channels) == 1 {
		conn.closeLocked(nil)
		s.mu.Unlock()
		_ = conn.pubsub.Close()
		return
	}
	s.removeLocked(c)
	delete(conn.channels, c.name)
	s.mu.Unlock()
	if conn.sharded {
		_ = conn.pubsub.SUnsubscribe(context.Background(), c.name) // one message too many does no harm
	} else {
		_ = conn.pubsub.Unsubscribe(context.Background(), c.name)
	}
}

// removeLocked takes a channel out of use, and reports whether it was open.
func (s *Connections) removeLocked(c *channel) (wasOpen bool) {
	delete(s.channels, c.name)
	wasOpen = c.open
	if wasOpen {
		c.open = false
		s.openChannels.Add(-1)
	}
	return wasOpen
}

// Close closes all connections.
func (s *Connections) Close() {
	s.mu.Lock()
	s.closed.Store(true)
	var conns []*connection
	for _, conn := range s.byServer {
		conns = append(conns, conn)
	}
	s.mu.Unlock()
	for _, conn := range conns {
		conn.close(s.errClosed)
	}
	s.work.Wait()
}
