package subscriptions

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

var errClosed = errors.New("closed")

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
	s := New(nil, errClosed, nil)
	conn := &connection{connections: s, channels: map[string]*channel{}}
	s.mu.Lock()
	conn.closeLocked(refusedWith("LOADING data"))
	s.mu.Unlock()
	open := &channel{name: "open", connection: conn, subscribers: map[*Subscriber]struct{}{}, open: true,
		ready: make(chan struct{})}
	close(open.ready)
	s.channels["open"] = open
	if err := s.Subscribe(context.Background(), new(Subscriber), "new", nil, false); !errors.Is(err, ErrNotSubscribed) {
		t.Errorf("subscribe to a new channel: %v, want %v", err, ErrNotSubscribed)
	}
	if err := s.Subscribe(context.Background(), new(Subscriber), "open", nil, false); err != nil {
		t.Errorf("subscribe to a channel that is open: %v", err)
	}
}

// A poll that was given up does not subscribe after its waiter has left.
func TestNoSubscriptionAfterAWaiterHasLeft(t *testing.T) {
	t.Parallel()
	s := New(nil, errClosed, nil)
	w := new(Subscriber)
	s.Unsubscribe(w)
	if err := s.Subscribe(context.Background(), w, "channel", nil, false); err != ErrNotSubscribed ||
		len(s.channels) > 0 {
		t.Errorf("subscribe: %v, with %d channels", err, len(s.channels))
	}
}
