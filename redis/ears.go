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

	mu       sync.Mutex
	again    time.Time // no new channel is asked for before, because a server has refused one
	lines    map[*server]*line
	channels map[string]*channel
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
	// servedAgain is that for all other refusals, such as that the server is loading its data or has too many clients.
	servedAgain = time.Second
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
// server has confirmed, or errDeaf if it has not for too long, refuses, or cannot be reached. It has no other error than that of ctx, unless
// the engine is closed: whether the server does what is asked for, the request will tell.
func (s *ears) listen(ctx context.Context, w *waiter, name string, on *server, sharded bool) error {
	s.mu.Lock()
	if s.shut.Load() {
		s.mu.Unlock()
		return errClosed
	}
	c := s.channels[name]
	if w.over || c == nil && time.Now().Before(s.again) {
		s.mu.Unlock()
		return errDeaf
	}
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
	if c.err == nil || errors.Is(c.err, errClosed) {
		return c.err
	}
	return fmt.Errorf("%w: %w", errDeaf, c.err)
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
