package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// A lock that the replica knows is held after its promotion, and waiters keep their places and are notified.
func TestWaitersSurviveAPromotionBySentinels(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	s := redisserver.SentinelsForTest(t, 1, r)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	const several = 3
	type party struct {
		holder, waiter *redis.Engine
		held           driver.Request
		queue          [several]driver.Request
		turns          [several]chan grant
	}
	parties := map[string]*party{}
	for name, client := range map[string]newClient{"Plain": failover(s), "AutoPipeline": pipelined(failover(s))} {
		p := &party{holder: unguarded(t, client), waiter: unguarded(t, client), held: lasting(name, time.Minute)}
		mustTake(t, p.holder, p.held)
		for i := range several {
			p.queue[i], p.turns[i] = mustJoin(t, p.waiter, lasting(name, time.Minute)), make(chan grant, 1)
			go func() {
				g, err := takeDespiteErrors(ctx, p.waiter, p.queue[i])
				p.turns[i] <- grant{g, err, time.Now()}
			}()
		}
		parties[name] = p
	}
	if err := r.Replicas[0].AwaitReplicaOf(r.Master); err != nil {
		t.Fatal(err)
	}
	r.Master.Kill()
	promoted, err := s.AwaitMaster(r.Master)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range parties {
		t.Run(name, func(t *testing.T) {
			retryUntilAnswered(t, "the renewal",
				func() error { return renewOne(ctx, p.holder, hold(p.held), time.Minute) })
			eventually(t, "both processes with waiters are subscribed to the new master", func() bool {
				return len(command(t, promoted, "PUBSUB", "CHANNELS", "lock:wake:*").([]any)) == len(parties)
			})
			if st := status(t, p.holder, p.held.Key); st.Waiting != several {
				t.Errorf("%d are in the queue of the new master, want %d", st.Waiting, several)
			}
			owner, last := p.holder, p.held
			for i, turn := range p.turns {
				released := time.Now()
				release(t, owner, last)
				g := granted(t, turn)
				if took := g.at.Sub(released); took > soon {
					t.Errorf("waiter %d has its turn %v after the release", i, took)
				}
				owner, last = p.waiter, p.queue[i]
			}
			release(t, owner, last)
		})
	}
}
