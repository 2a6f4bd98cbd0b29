package redis

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// refusedWith is an error of a server, as the client returns it.
type refusedWith string

func (r refusedWith) Error() string { return string(r) }
func (refusedWith) RedisError()     {}

var _ redis.Error = refusedWith("")

// A server that has refused a subscription is not asked with each poll, but only after a while.
func TestServerThatRefusesIsLeftAlone(t *testing.T) {
	t.Parallel()
	for want, errs := range map[time.Duration][]error{
		0: {nil, io.EOF, errMoved, errClosed},
		retryAfterRefused: {refusedWith("ERR max number of clients reached"), refusedWith("LOADING data"),
			refusedWith("MOVED 1 host:1")},
		retryAfterDenied: {refusedWith("NOPERM no"), refusedWith("ERR unknown command 'subscribe'")},
	} {
		for _, err := range errs {
			if is := retryPause(err); is != want {
				t.Errorf("after %v: %v, want %v", err, is, want)
			}
		}
	}
	s := new(subscriptions)
	s.init(nil, "", nil)
	sub := &subscription{subscriptions: s, channels: map[string]*channel{}}
	s.mu.Lock()
	sub.closeLocked(refusedWith("LOADING data"))
	s.mu.Unlock()
	open := &channel{name: "open", subscription: sub, waiters: map[*waiter]struct{}{}, open: true,
		ready: make(chan struct{})}
	close(open.ready)
	s.channels["open"] = open
	if err := s.subscribe(context.Background(), new(waiter), "new", nil, false); !errors.Is(err, errNotSubscribed) {
		t.Errorf("subscribe to a new channel: %v, want %v", err, errNotSubscribed)
	}
	if err := s.subscribe(context.Background(), new(waiter), "open", nil, false); err != nil {
		t.Errorf("subscribe to a channel that is open: %v", err)
	}
}
