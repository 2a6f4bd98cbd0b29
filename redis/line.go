package redis

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// line is one connection.
type line struct {
	ears     *ears
	on       *server
	sharded  bool
	sub      *redis.PubSub
	channels map[string]*channel
	started  bool
	dead     bool
}

// subscribe asks for a channel. The first one also starts the receiving: where the connection leads to is decided by it.
func (l *line) subscribe(name string) {
	var err error
	if l.sharded {
		err = l.sub.SSubscribe(context.Background(), name)
	} else {
		err = l.sub.Subscribe(context.Background(), name)
	}
	if err != nil {
		l.fail(err)
		return
	}
	l.ears.mu.Lock()
	first := !l.started && !l.dead
	l.started = l.started || first
	l.ears.mu.Unlock()
	if first {
		l.fail(l.receive())
	}
}

// receive takes in messages until the connection breaks.
func (l *line) receive() error {
	pinged := false
	for {
		message, err := l.sub.ReceiveTimeout(context.Background(), pingAfter)
		var late net.Error
		switch {
		case err == nil:
			pinged = false
		case errors.As(err, &late) && late.Timeout() && !pinged:
			pinged = true
			if err := l.sub.Ping(context.Background()); err != nil {
				return err
			}
			continue
		default:
			return err
		}
		switch m := message.(type) {
		case *redis.Message:
			if m.Payload == "" {
				l.pokeAll(m.Channel)
			} else {
				l.ears.hear(m.Payload)
			}
		case *redis.Subscription:
			if err := l.confirm(m); err != nil {
				return err
			}
		}
	}
}

var errMoved = errors.New("redis: the server has ended a subscription, because its slot was moved to another server")

// confirm takes in that the server has begun or ended to send the messages of a channel.
func (l *line) confirm(m *redis.Subscription) error {
	s := l.ears
	s.mu.Lock()
	defer s.mu.Unlock()
	c := l.channels[m.Channel]
	if c == nil || l.dead {
		return nil
	}
	switch m.Kind {
	case "subscribe", "ssubscribe":
		if c.open { // the client has made another connection by itself
			for w := range c.waiters {
				w.unheard()
			}
			return nil
		}
		c.open = true
		s.open.Add(1)
		close(c.ready)
	case "unsubscribe", "sunsubscribe":
		if c.open {
			return errMoved
		}
	}
	return nil
}

// pokeAll wakes those who listen to a channel.
func (l *line) pokeAll(name string) {
	l.ears.mu.Lock()
	defer l.ears.mu.Unlock()
	if c := l.channels[name]; c != nil {
		for w := range c.waiters {
			w.poke()
		}
	}
}

// fail ends a line.
func (l *line) fail(err error) {
	s := l.ears
	s.mu.Lock()
	if l.dead {
		s.mu.Unlock()
		return
	}
	l.die(err)
	s.mu.Unlock()
	_ = l.sub.Close() // it is broken
}

// die takes a line out of use; its connection is to be closed then. Those who listened look for themselves. mu is held.
func (l *line) die(err error) {
	s := l.ears
	l.dead = true
	delete(s.lines, l.on)
	if pause := refusedFor(err); pause > 0 {
		s.again = time.Now().Add(pause)
	}
	for _, c := range l.channels {
		if wasOpen := s.remove(c); !wasOpen {
			c.err = err
			close(c.ready)
		}
		if c.idle != nil {
			c.idle.Stop()
		}
		for w := range c.waiters {
			w.unheard()
		}
	}
}

// refusedFor returns for how long a server that has answered with err is not asked for a channel again.
func refusedFor(err error) time.Duration {
	var reply redis.Error
	switch {
	case !errors.As(err, &reply):
		return 0
	case redis.HasErrorPrefix(err, "NOPERM") || redis.HasErrorPrefix(err, "unknown command"):
		return allowedAgain
	}
	return servedAgain
}
