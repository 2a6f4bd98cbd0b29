package redis_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// slowReplies is a hook of a client that keeps replies to scripts back, and no others: on a busy machine, the engine
// asks between two scripts whether the server is still the same.
type slowReplies struct {
	mu   sync.Mutex
	gate chan struct{} // unless nil, replies wait until it is closed
}

// keepBack keeps replies back until the returned function is called.
func (s *slowReplies) keepBack() (letGo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate = gate
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gate = nil
		close(gate)
	}
}

// DialHook implements goredis.Hook.
func (s *slowReplies) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessPipelineHook implements goredis.Hook.
func (s *slowReplies) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// ProcessHook implements goredis.Hook.
func (s *slowReplies) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		s.mu.Lock()
		gate := s.gate
		s.mu.Unlock()
		if gate != nil && cmd.Name() == "evalsha" {
			<-gate
		}
		return err
	}
}

// A take is granted, but its caller leaves before the answer is there, and somebody joins the queue. When the answer
// comes, the lock is handed over.
func TestGrantOfALeftTakeIsHandedOver(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"Cancelled": context.WithCancel,
		"TimedOut": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 5*time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			replies := &slowReplies{}
			e := unguarded(t, func(t *testing.T) goredis.UniversalClient {
				c := slowClient(s.Addr())(t)
				c.AddHook(replies)
				return c
			})
			others := unguarded(t, standalone(s))
			mustTake(t, e, lasting("known", time.Minute)) // the server is known
			letGo := replies.keepBack()
			var cancels []context.CancelFunc
			var left []driver.Request
			var takes sync.WaitGroup
			for i := range 4 { // two alone, one in each sender of the batcher
				r := lasting(fmt.Sprint("a", i), time.Hour)
				left = append(left, r)
				ctx, cancel := leave(t.Context())
				defer cancel()
				cancels = append(cancels, cancel)
				takes.Go(func() {
					if _, err := e.Take(ctx, r); !driver.IsSpent(err) {
						t.Errorf("a take that was left: %v", err)
					}
				})
				eventually(t, "the server grants the lock", func() bool { return hasLock(t, s, r) })
			}
			if name == "Cancelled" {
				for _, cancel := range cancels {
					cancel()
				}
			}
			takes.Wait()
			var got []<-chan grant
			for _, r := range left {
				got = append(got, startWait(t, others, mustJoin(t, others, lasting(r.Name, time.Minute))))
			}
			letGo()
			for _, g := range got {
				granted(t, g)
			}
		})
	}
}
