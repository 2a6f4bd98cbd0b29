package redis

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// subscription is one connection for messages, with its channels.
type subscription struct {
	subscriptions *subscriptions
	server        *server
	sharded       bool
	pubsub        *redis.PubSub
	channels      map[string]*channel
	closed        bool
}

// run asks for the first channel, and then receives messages until the connection breaks or is closed. Receiving begins
// after that, as the channel determines to which server the connection goes.
func (sub *subscription) run(name string) {
	err := sub.subscribe(name)
	if err == nil {
		err = sub.receive()
	}
	sub.close(err)
}

// add asks for one more channel.
func (sub *subscription) add(name string) {
	if err := sub.subscribe(name); err != nil {
		sub.close(err)
	}
}

// subscribe asks for a channel. The server's answer is received later.
func (sub *subscription) subscribe(name string) error {
	if sub.sharded {
		return sub.pubsub.SSubscribe(context.Background(), name)
	}
	return sub.pubsub.Subscribe(context.Background(), name)
}

// receive handles messages until the connection breaks.
func (sub *subscription) receive() error {
	pinged := false
	for {
		message, err := sub.pubsub.ReceiveTimeout(context.Background(), pingAfter)
		var late net.Error
		switch {
		case err == nil:
			pinged = false
		case errors.As(err, &late) && late.Timeout() && !pinged:
			pinged = true
			if err := sub.pubsub.Ping(context.Background()); err != nil {
				return err
			}
			continue
		default:
			return err
		}
		switch m := message.(type) {
		case *redis.Message:
			if m.Payload == "" {
				sub.wakeAll(m.Channel)
			} else {
				sub.subscriptions.onMessage(m.Payload)
			}
		case *redis.Subscription:
			if err := sub.onSubscription(m); err != nil {
				return err
			}
		}
	}
}

var errMoved = errors.New("redis: the server has ended a subscription, because its slot was moved to another server")

// onSubscription handles the server's confirmation that a channel was subscribed or unsubscribed.
func (sub *subscription) onSubscription(m *redis.Subscription) error {
	s := sub.subscriptions
	s.mu.Lock()
	defer s.mu.Unlock()
	c := sub.channels[m.Channel]
	if c == nil || sub.closed {
		return nil
	}
	switch m.Kind {
	case "subscribe", "ssubscribe":
		if c.open { // the client has connected again by itself: see subscriptions
			for w := range c.waiters {
				w.noteMessagesLost()
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

// wakeAll wakes all waiters of a channel.
func (sub *subscription) wakeAll(name string) {
	sub.subscriptions.mu.Lock()
	defer sub.subscriptions.mu.Unlock()
	if c := sub.channels[name]; c != nil {
		for w := range c.waiters {
			w.wakeUp()
		}
	}
}

// close closes the subscription.
func (sub *subscription) close(err error) {
	s := sub.subscriptions
	s.mu.Lock()
	if sub.closed {
		s.mu.Unlock()
		return
	}
	sub.closeLocked(err)
	s.mu.Unlock()
	_ = sub.pubsub.Close() // it is broken
}

// closeLocked takes the subscription out of use and wakes its waiters, which then poll. The caller must close the
// connection.
func (sub *subscription) closeLocked(err error) {
	s := sub.subscriptions
	sub.closed = true
	delete(s.byServer, sub.server)
	if pause := retryPause(err); pause > 0 {
		s.retryAt = time.Now().Add(pause)
	}
	for _, c := range sub.channels {
		if wasOpen := s.removeLocked(c); !wasOpen {
			c.err = err
			close(c.ready)
		}
		if c.idleTimer != nil {
			c.idleTimer.Stop()
		}
		for w := range c.waiters {
			w.noteMessagesLost()
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
