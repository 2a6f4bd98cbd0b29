package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// ears are the subscriptions of an engine: one connection for all messages, or one for each server of a Cluster. A
// connection exists while somebody waits, and a little longer.
//
// A connection that breaks is not mended here. Whoever listened on it is woken, looks at the server itself, and
// listens anew before it joins again: so nothing is missed.
type ears struct {
	client  redis.UniversalClient
	process string // names this engine in channels
	hear    func(message string)

	work sync.WaitGroup

	shut atomic.Bool
	open atomic.Int32 // channels that are open

	mu        sync.Mutex
	forbidden time.Time // when subscribing was last refused for lack of rights
	lines     map[*server]*line
	channels  map[string]*channel
}

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

// channel is what waiters listen to. Its fields are guarded by ears.mu.
type channel struct {
	name    string
	line    *line
	waiters map[*waiter]struct{}
	begun   time.Time
	ready   chan struct{} // closed when the server has confirmed, or err is set
	open    bool          // the server has confirmed
	err     error
	idle    *time.Timer
}

const (
	// idleAfter is how long a channel stays open to which nobody listens any more.
	idleAfter = 10 * time.Second
	// pingAfter is after how long without a message it is tried whether a connection still works.
	pingAfter = 5 * time.Second
	// confirmIn is how long a waiter stands still until the server confirms a channel. Then it looks, and comes back to listen: a
	// connection for messages that is dead must not hold up the requests.
	confirmIn = 300 * time.Millisecond
	// allowedAgain is after how long it is tried anew whether subscribing is allowed.
	allowedAgain = time.Minute
)

var errDeaf = errors.New("nothing can be heard")

func (s *ears) init(client redis.UniversalClient, process string, hear func(message string)) {
	s.client, s.process, s.hear, s.lines, s.channels = client, process, hear, map[*server]*line{}, map[string]*channel{}
}

func (s *ears) closed() bool { return s.shut.Load() }

// hears reports whether a channel is open.
func (s *ears) hears(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[name]
	return c != nil && c.open
}

// listen makes w hear a channel, which is on a server of a Cluster, or on the only one (nil). It returns when the
// server has confirmed, or errDeaf if it has not for too long, does not allow it, or cannot be reached.
func (s *ears) listen(ctx context.Context, w *waiter, name string, on *server, sharded bool) error {
	s.mu.Lock()
	if s.shut.Load() {
		s.mu.Unlock()
		return errClosed
	}
	if w.over || !s.forbidden.IsZero() && time.Since(s.forbidden) < allowedAgain {
		s.mu.Unlock()
		return errDeaf
	}
	c := s.channels[name]
	if c == nil {
		c = s.add(name, on, sharded)
	}
	if w.channel != c {
		s.part(w)
		w.channel = c
		c.waiters[w] = struct{}{}
	}
	if c.idle != nil {
		c.idle.Stop()
		c.idle = nil
	}
	s.mu.Unlock()
	if err := c.confirmed(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.err == nil {
		return nil
	}
	var reply redis.Error
	switch replied := errors.As(c.err, &reply); {
	case forbids(c.err):
		return errDeaf
	case replied || errors.Is(c.err, errClosed):
		return noEffect(explain(c.err))
	}
	return fmt.Errorf("%w: %w", errDeaf, c.err) // whether the server is there, the request will tell
}

// forbids reports whether an error says that one may not listen.
func forbids(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM") || redis.HasErrorPrefix(err, "unknown command")
}

// confirmed waits for what the server says.
func (c *channel) confirmed(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	default:
	}
	late := time.NewTimer(confirmIn - time.Since(c.begun))
	defer late.Stop()
	select {
	case <-c.ready:
		return nil
	case <-late.C:
		return errDeaf
	case <-ctx.Done():
		return driver.NoEffect(ctx.Err())
	}
}

// add makes a channel, and a line if there is none. mu is held.
func (s *ears) add(name string, on *server, sharded bool) *channel {
	l := s.lines[on]
	if l == nil {
		l = &line{ears: s, on: on, sharded: sharded, channels: map[string]*channel{}}
		if sharded {
			l.sub = s.client.SSubscribe(context.Background())
		} else {
			l.sub = s.client.Subscribe(context.Background())
		}
		s.lines[on] = l
	}
	c := &channel{name: name, line: l, waiters: map[*waiter]struct{}{}, begun: time.Now(), ready: make(chan struct{})}
	s.channels[name], l.channels[name] = c, c
	s.work.Go(func() { l.subscribe(name) })
	return c
}

// leave makes w hear nothing any more, also if a look that it has given up still goes on.
func (s *ears) leave(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.over = true
	s.part(w)
}

// part takes w out of its channel. mu is held.
func (s *ears) part(w *waiter) {
	c := w.channel
	if c == nil {
		return
	}
	w.channel = nil
	delete(c.waiters, w)
	if len(c.waiters) == 0 && !c.line.dead && c.idle == nil {
		c.idle = time.AfterFunc(idleAfter, func() { s.drop(c) })
	}
}

// drop closes a channel to which nobody listens.
func (s *ears) drop(c *channel) {
	s.mu.Lock()
	l := c.line
	if l.dead || len(c.waiters) > 0 || s.channels[c.name] != c {
		s.mu.Unlock()
		return
	}
	if len(l.channels) == 1 {
		l.die(nil)
		s.mu.Unlock()
		_ = l.sub.Close()
		return
	}
	s.remove(c)
	delete(l.channels, c.name)
	s.mu.Unlock()
	if l.sharded {
		_ = l.sub.SUnsubscribe(context.Background(), c.name) // a message too many does no harm
	} else {
		_ = l.sub.Unsubscribe(context.Background(), c.name)
	}
}

// remove takes a channel out of use, and reports whether it was open. mu is held.
func (s *ears) remove(c *channel) (wasOpen bool) {
	delete(s.channels, c.name)
	wasOpen = c.open
	if wasOpen {
		c.open = false
		s.open.Add(-1)
	}
	return wasOpen
}

// close ends all lines.
func (s *ears) close() {
	s.mu.Lock()
	s.shut.Store(true)
	var lines []*line
	for _, l := range s.lines {
		lines = append(lines, l)
	}
	s.mu.Unlock()
	for _, l := range lines {
		l.fail(errClosed)
	}
	s.work.Wait()
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
	if forbids(err) {
		s.forbidden = time.Now()
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
