package redisson

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/subscriptions"
)

// A message says that a lock may be free. It is only a hint: it may be lost, or come from a release that somebody else
// was faster to use. So a waiter asks again at the latest when the lease that it was told of ends.
const (
	// maxPollInterval is the longest time between two polls.
	maxPollInterval = 10 * time.Second
	// minPollInterval is the shortest time between two polls without a message.
	minPollInterval = 20 * time.Millisecond
	// pollUnnotified is the longest time between two polls of a waiter that cannot subscribe.
	pollUnnotified = 250 * time.Millisecond
	// minSpin and maxSpin are the shortest and the longest pause between two polls of a spinning waiter, as in
	// Redisson.
	minSpin, maxSpin = time.Millisecond, 128 * time.Millisecond
	// answerTimeout is how long a poll, or one step of reading, may take.
	answerTimeout = 5 * time.Second
)

// errNoAnswer ends a request that the server leaves unanswered.
var errNoAnswer = errors.New("redisson: no answer in time")

// Wait implements [driver.Engine].
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	p, name, err := e.object(r.Key)
	if err == nil {
		err = e.unsent.NoteSent(r.Owner)
	}
	if err != nil {
		return driver.Grant{}, err
	}
	r.Join, r.MaxWaiters = true, 0 // it has joined already, and keeps its place or joins again
	var g driver.Grant
	ended := e.pollUntil(ctx, p.channel(name, r.Owner), e.lock == Spin, func() (again time.Duration, done bool) {
		g, again, err = e.pollOnce(ctx, p, name, r)
		return again, !errors.Is(err, driver.ErrHeld)
	})
	if ended != nil {
		return driver.Grant{}, driver.NoEffect(ended)
	}
	return g, err
}

// pollUntil calls poll until it is done: when a message may have come on the channel, and at the latest when again has
// passed. A negative again stands for a lease that never ends. With spin, there are no messages. It returns an error
// only if ctx ends between two polls.
func (e *Engine) pollUntil(
	ctx context.Context, channel string, spin bool, poll func() (again time.Duration, done bool),
) error {
	w := e.channels.add(channel)
	defer func() {
		e.channels.remove(w)
		e.connections.Unsubscribe(&w.subscriber)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for polls := 0; ; polls++ {
		notified := !spin && e.subscribe(ctx, w)
		again, done := poll()
		if done {
			return nil
		}
		pause := pollPause(again, notified, polls)
		if spin {
			pause = rand.N(min(minSpin<<min(polls, 10), maxSpin)) + minSpin
		}
		timer.Reset(pause)
		select {
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pollPause returns for how long to wait for a message before the next poll. again is what take has answered.
func pollPause(again time.Duration, notified bool, polls int) time.Duration {
	d := maxPollInterval
	if again >= 0 {
		d = min(again+time.Millisecond, d)
	}
	if !notified {
		d = min(d, minPollInterval<<min(polls, 10), pollUnnotified)
	}
	d = max(d, minPollInterval)
	return d + rand.N(d/8+time.Millisecond)
}

// pollOnce asks once whether the owner is granted the name now.
func (e *Engine) pollOnce(
	ctx context.Context, p protocol, name string, r driver.Request,
) (driver.Grant, time.Duration, error) {
	limit := min(answerTimeout, max(r.TTL/2, 100*time.Millisecond))
	sent := driver.Now()
	var again time.Duration
	g, err := within(ctx, limit, func(ctx context.Context) (g driver.Grant, err error) {
		g, again, err = e.takeInTime(ctx, p, name, r)
		g.Start = sent
		return g, err
	})
	if err == errNoAnswer {
		err = driver.Spent(err) // releaseLate may yet release the owner
	}
	return g, again, err
}

// within calls f with a limit, after which the error is errNoAnswer.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	value, err := f(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = errNoAnswer
	}
	return value, err
}

// waiter is a caller of Wait.
type waiter struct {
	channel    string
	wake       chan struct{}
	subscriber subscriptions.Subscriber
}

func (w *waiter) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default: // it is about to poll anyway
	}
}

// channels are the waiters of an engine, by the channel on which they are notified.
type channels struct {
	mu      sync.Mutex
	waiters map[string]map[*waiter]struct{}
}

func (c *channels) add(channel string) *waiter {
	w := &waiter{channel: channel, wake: make(chan struct{}, 1)}
	w.subscriber = subscriptions.Subscriber{Wake: w.wakeUp, MessagesLost: w.wakeUp}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiters == nil {
		c.waiters = map[string]map[*waiter]struct{}{}
	}
	if c.waiters[channel] == nil {
		c.waiters[channel] = map[*waiter]struct{}{}
	}
	c.waiters[channel][w] = struct{}{}
	return w
}

func (c *channels) remove(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiters[w.channel], w)
	if len(c.waiters[w.channel]) == 0 {
		delete(c.waiters, w.channel)
	}
}

// onMessage wakes the waiters of a channel. What a message says makes no difference, as the server decides: the core
// lets one caller of each name wait here.
func (c *channels) onMessage(channel, _ string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.waiters[channel] {
		w.wakeUp()
	}
}

// subscribe subscribes a waiter, and reports whether it will be notified.
func (e *Engine) subscribe(ctx context.Context, w *waiter) bool {
	r, err := e.route(ctx, w.channel)
	if err != nil {
		return false
	}
	return e.connections.Subscribe(ctx, &w.subscriber, w.channel, r.server, r.sharded) == nil
}

// route says where a channel is.
type route struct {
	server  any // of a Cluster, if the channel is sharded
	sharded bool
}

// routeTimeout limits the search for a channel. A waiter that has not found it polls.
const routeTimeout = 300 * time.Millisecond

// route finds a channel. The client may have to ask a Cluster, and does not return when ctx ends.
func (e *Engine) route(ctx context.Context, channel string) (route, error) {
	cluster, ok := e.client.(*redis.ClusterClient)
	if !ok {
		return route{}, nil
	}
	return within(ctx, routeTimeout, func(ctx context.Context) (route, error) {
		return detach.Do(ctx, &e.workers, func(ctx context.Context) (r route, err error) {
			publish, err := e.publishCommand(ctx)
			if err != nil || publish != "SPUBLISH" {
				return r, err
			}
			r.sharded = true
			r.server, err = cluster.MasterForKey(ctx, channel)
			return r, err
		}, nil)
	})
}
