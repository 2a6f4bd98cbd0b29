package subscriptions

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// connection is one connection for messages, with its channels.
type connection struct {
	connections *Connections
	server      any
	sharded     bool
	pubsub      *redis.PubSub
	channels    map[string]*channel
	closed      bool
}

// run asks for the first channel, and then receives messages until the connection breaks or is closed. Receiving begins
// after that, as the channel determines to which server the connection goes.
func (conn *connection) run(name string) {
	err := conn.subscribe(name)
	if err == nil {
		err = conn.receive()
	}
	conn.close(err)
}

// add asks for one more channel.
func (conn *connection) add(name string) {
	if err := conn.subscribe(name); err != nil {
		conn.close(err)
	}
}

// subscribe asks for a channel. The server's answer is received later.
func (conn *connection) subscribe(name string) error {
	if conn.sharded {
		return conn.pubsub.SSubscribe(context.Background(), name)
	}
	return conn.pubsub.Subscribe(context.Background(), name)
}

// receive handles messages until the connection breaks.
func (conn *connection) receive() error {
	pinged := false
	for {
		message, err := conn.pubsub.ReceiveTimeout(context.Background(), pingAfter)
		var late net.Error
		switch {
		case err == nil:
			pinged = false
		case errors.As(err, &late) && late.Timeout() && !pinged:
			pinged = true
			if err := conn.pubsub.Ping(context.Background()); err != nil {
				return err
			}
			continue
		default:
			return err
		}
		switch m := message.(type) {
		case *redis.Message:
			if m.Payload == "" {
				conn.wakeAll(m.Channel)
			} else {
				conn.connections.onMessage(m.Channel, m.Payload)
			}
		case *redis.Subscription:
			if err := conn.onSubscription(m); err != nil {
				return err
			}
		}
	}
}

var errMoved = errors.New("redis: the server has ended a subscription, because its slot was moved to another server")

// onSubscription handles the server's confirmation that a channel was subscribed or unsubscribed.
func (conn *connection) onSubscription(m *redis.Subscription) error {
	s := conn.connections
	s.mu.Lock()
	defer s.mu.Unlock()
	c := conn.channels[m.Channel]
	if c == nil || conn.closed {
		return nil
	}
	switch m.Kind {
	case "subscribe", "ssubscribe":
		if c.open { // the client has connected again by itself: see Connections
			for w := range c.subscribers {
				w.MessagesLost()
			}
			return nil
		}
		c.open = true
		s.openChannels.Add(1)
		close(c.ready)
	case "unsubscribe", "sunsubscribe":
		if c.open {
			return errMoved
		}
	}
	return nil
}

// wakeAll wakes all subscribers of a channel.
func (conn *connection) wakeAll(name string) {
	conn.connections.mu.Lock()
	defer conn.connections.mu.Unlock()
	if c := conn.channels[name]; c != nil {
		for w := range c.subscribers {
			w.Wake()
		}
	}
}

// close closes the connection.
func (conn *connection) close(err error) {
	s := conn.connections
	s.mu.Lock()
	if conn.closed {
		s.mu.Unlock()
		return
	}
	conn.closeLocked(err)
	s.mu.Unlock()
	_ = conn.pubsub.Close() // it is broken
}

// closeLocked takes the connection out of use and tells its subscribers. The caller must close the one of the client.
func (conn *connection) closeLocked(err error) {
	s := conn.connections
	conn.closed = true
	delete(s.byServer, conn.server)
	if pause := retryPause(err); pause > 0 {
		s.retryAt = time.Now().Add(pause)
	}
	for _, c := range conn.channels {
		if wasOpen := s.removeLocked(c); !wasOpen {
			c.err = err
			close(c.ready)
		}
		if c.idleTimer != nil {
			c.idleTimer.Stop()
		}
		for w := range c.subscribers {
			w.MessagesLost()
		}
	}
}

// retryPause returns for how long not to subscribe again after an error.
func retryPause(err error) time.Duration {
	var reply redis.Error
	switch {
	case !errors.As(err, &reply):
		return 0
	case redis.HasErrorPrefix(err, "NOPERM") || redis.HasErrorPrefix(err, "unknown command"):
		return retryAfterDenied
	}
	return retryAfterRefused
}
