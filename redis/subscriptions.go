package redis

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

// subscriptions are an engine's connections for messages: one for all messages, or one for each server of a Cluster. A
// connection exists while somebody waits, and a little longer.
//
// A connection that fails is closed, and not used again. Its waiters are woken, subscribe on a new one, and then ask
// the server, so they miss no grant. The go-redis client may also replace a connection without an error that we see:
// when the server announces maintenance, or after it failed to unsubscribe from an idle channel. It subscribes to the
// same channels again, and the server confirms channels that are open already. Their waiters are woken, too, and ask.
type subscriptions struct {
	client    redis.UniversalClient
	process   string // names this engine in channels
	onMessage func(message string)

	work sync.WaitGroup

	closed       atomic.Bool
	openChannels atomic.Int32 // how many channels are open

	mu       sync.Mutex
	retryAt  time.Time // when to subscribe again after a server refused
	byServer map[*server]*subscription
	channels map[string]*channel
}

// channel is a channel on which waiters are notified. Its fields are guarded by subscriptions.mu.
type channel struct {
	name         string
	subscription *subscription
	waiters      map[*waiter]struct{}
	requestedAt  time.Time
	ready        chan struct{} // closed when the server has confirmed, or err is set
	open         bool          // the server has confirmed
	err          error
	idleTimer    *time.Timer
}

const (
	// channelIdleTime is how long a channel without waiters stays open.
	channelIdleTime = 10 * time.Second
	// pingAfter is after how much silence a connection is tested.
	pingAfter = 5 * time.Second
	// confirmTimeout is how long a waiter waits for the server to confirm a channel. Then it polls, and subscribes
	// again later: a dead connection for messages must not hold up requests.
	confirmTimeout = 300 * time.Millisecond
	// retryAfterDenied is how long after a denial the engine tries to subscribe again.
	retryAfterDenied = time.Minute
	// retryAfterRefused is the same after other refusals: the server is loading its data, or has too many clients.
	retryAfterRefused = time.Second
)

var errNotSubscribed = errors.New("not subscribed")

func (s *subscriptions) init(client redis.UniversalClient, process string, onMessage func(message string)) {
	s.client, s.process, s.onMessage = client, process, onMessage
	s.byServer, s.channels = map[*server]*subscription{}, map[string]*channel{}
}

func (s *subscriptions) isClosed() bool { return s.closed.Load() }

// isOpen reports whether a channel is open.
func (s *subscriptions) isOpen(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[name]
	return c != nil && c.open
}

// subscribe subscribes w to a channel on a server of a Cluster, or on the only server (nil). It returns when the server
// has confirmed. It returns errNotSubscribed if the server refuses, cannot be reached, or takes too long. Other errors
// are only those of ctx and of a closed engine: the request itself will show whether the server works.
func (s *subscriptions) subscribe(ctx context.Context, w *waiter, name string, srv *server, sharded bool) error {
	s.mu.Lock()
	if s.closed.Load() {
		s.mu.Unlock()
		return errClosed
	}
	c := s.channels[name]
	if w.gone || c == nil && time.Now().Before(s.retryAt) {
		s.mu.Unlock()
		return errNotSubscribed
	}
	if c == nil {
		c = s.addLocked(name, srv, sharded)
	}
	if w.channel != c {
		s.detachLocked(w)
		w.channel = c
		c.waiters[w] = struct{}{}
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
	if c.err == nil || errors.Is(c.err, errClosed) {
		return c.err
	}
	return fmt.Errorf("%w: %w", errNotSubscribed, c.err)
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
		return errNotSubscribed
	case <-ctx.Done():
		return driver.NoEffect(ctx.Err())
	}
}

// addLocked adds a channel, and a connection if there is none for the server.
func (s *subscriptions) addLocked(name string, srv *server, sharded bool) *channel {
	sub := s.byServer[srv]
	isNew := sub == nil
	if isNew {
		sub = &subscription{subscriptions: s, server: srv, sharded: sharded, channels: map[string]*channel{}}
		if sharded {
			sub.pubsub = s.client.SSubscribe(context.Background())
		} else {
			sub.pubsub = s.client.Subscribe(context.Background())
		}
		s.byServer[srv] = sub
	}
	c := &channel{
		name: name, subscription: sub,
		waiters: map[*waiter]struct{}{}, requestedAt: time.Now(), ready: make(chan struct{}),
	}
	s.channels[name], sub.channels[name] = c, c
	if isNew {
		s.work.Go(func() { sub.run(name) })
	} else {
		s.work.Go(func() { sub.add(name) })
	}
	return c
}

// unsubscribe ends the notifications of w, even if an abandoned poll of it still goes on.
func (s *subscriptions) unsubscribe(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.gone = true
	s.detachLocked(w)
}

// detachLocked removes w from its channel.
func (s *subscriptions) detachLocked(w *waiter) {
	c := w.channel
	if c == nil {
		return
	}
	w.channel = nil
	delete(c.waiters, w)
	if len(c.waiters) == 0 && !c.subscription.closed && c.idleTimer == nil {
		c.idleTimer = time.AfterFunc(channelIdleTime, func() { s.closeIdle(c) })
	}
}

// closeIdle closes a channel that has no waiters.
func (s *subscriptions) closeIdle(c *channel) {
	s.mu.Lock()
	sub := c.subscription
	if sub.closed || len(c.waiters) > 0 || s.channels[c.name] != c {
		s.mu.Unlock()
		return
	}
	if len(sub.channels) == 1 {
		sub.closeLocked(nil)
		s.mu.Unlock()
		_ = sub.pubsub.Close()
		return
	}
	s.removeLocked(c)
	delete(sub.channels, c.name)
	s.mu.Unlock()
	if sub.sharded {
		_ = sub.pubsub.SUnsubscribe(context.Background(), c.name) // one message too many does no harm
	} else {
		_ = sub.pubsub.Unsubscribe(context.Background(), c.name)
	}
}

// removeLocked takes a channel out of use, and reports whether it was open.
func (s *subscriptions) removeLocked(c *channel) (wasOpen bool) {
	delete(s.channels, c.name)
	wasOpen = c.open
	if wasOpen {
		c.open = false
		s.openChannels.Add(-1)
	}
	return wasOpen
}

// close closes all connections.
func (s *subscriptions) close() {
	s.mu.Lock()
	s.closed.Store(true)
	var lines []*subscription
	for _, sub := range s.byServer {
		lines = append(lines, sub)
	}
	s.mu.Unlock()
	for _, sub := range lines {
		sub.close(errClosed)
	}
	s.work.Wait()
}
