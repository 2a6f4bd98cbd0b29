package redis

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// refusal of a server, as the client hands it out.
type refusedWith string

func (r refusedWith) Error() string { return string(r) }
func (refusedWith) RedisError()     {}

var _ redis.Error = refusedWith("")

// A server that refuses to send messages is not asked with each look: after a while only.
func TestServerThatRefusesIsLeftAlone(t *testing.T) {
	t.Parallel()
	for want, errs := range map[time.Duration][]error{
		0:            {nil, io.EOF, errMoved, errClosed},
		servedAgain:  {refusedWith("ERR max number of clients reached"), refusedWith("LOADING data"), refusedWith("MOVED 1 host:1")},
		allowedAgain: {refusedWith("NOPERM no"), refusedWith("ERR unknown command 'subscribe'")},
	} {
		for _, err := range errs {
			if is := refusedFor(err); is != want {
				t.Errorf("after %v: %v, want %v", err, is, want)
			}
		}
	}
	s := new(ears)
	s.init(nil, "", nil)
	l := &line{ears: s, channels: map[string]*channel{}}
	s.mu.Lock()
	l.die(refusedWith("LOADING data"))
	s.mu.Unlock()
	open := &channel{name: "open", line: l, waiters: map[*waiter]struct{}{}, open: true, ready: make(chan struct{})}
	close(open.ready)
	s.channels["open"] = open
	if err := s.listen(context.Background(), new(waiter), "new", nil, false); !errors.Is(err, errDeaf) {
		t.Errorf("listen to a new channel: %v, want %v", err, errDeaf)
	}
	if err := s.listen(context.Background(), new(waiter), "open", nil, false); err != nil {
		t.Errorf("listen to a channel that is open: %v", err)
	}
}
