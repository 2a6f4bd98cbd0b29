package redis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// within is how long replicas may take to confirm. It is long enough for those that run.
const within = time.Second

// copied is a server that keeps some names, with a replica that must confirm.
type copied struct {
	tag     string // begins the names
	client  newClient
	master  *redisserver.Server
	replica *redisserver.Server
}

// TestReplicas has checks that pause the replica, so they run one after another.
func TestReplicas(t *testing.T) {
	t.Parallel()
	sets := map[string]copied{}
	for name, client := range map[string]func(newClient) newClient{"Plain": plain, "AutoPipeline": pipelined} {
		r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
		sets["OneServer"+name] = copied{"", client(standalone(r.Master)), r.Master, r.Replicas[0]}
	}
	c := redisserver.ClusterForTest(t, 3, 1, redisserver.Config{})
	sets["ClusterPlain"] = copied{tagOn(0), cluster(c), c.Nodes[0], c.Nodes[3]}
	sets["ClusterAutoPipeline"] = copied{tagOn(1), pipelined(cluster(c)), c.Nodes[1], c.Nodes[4]}
	// One that speaks as Valkey 8 and 9 do is a Cluster as well: WAIT counts on the connection of the change, and on no other server.
	sets["ClusterThatSpeaksAsValkey"] = copied{tagOn(2), telling(cluster(c), asValkey), c.Nodes[2], c.Nodes[5]}
	for name, c := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, check := range map[string]func(*testing.T, copied){
				"TakeIsConfirmed":                    takeIsConfirmed,
				"TakeThatIsNotConfirmedIsUndone":     takeIsUndone,
				"RenewalThatIsNotConfirmedIsUnknown": renewalIsUnknown,
				"HandOverIsConfirmed":                handOverIsConfirmed,
			} {
				t.Run(name, func(t *testing.T) { check(t, c) })
			}
		})
	}
}

func plain(c newClient) newClient { return c }

// stalled pauses the replica until the test or its return value ends.
func (c copied) stalled(t *testing.T) (resume func()) {
	t.Helper()
	if err := c.replica.Pause(); err != nil {
		t.Fatal(err)
	}
	resumed := false
	resume = func() {
		if resumed {
			return
		}
		resumed = true
		if err := c.replica.Resume(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(resume)
	return resume
}

// holds reports whether a server knows of a lock by this owner. It may be a replica.
func holds(t *testing.T, s *redisserver.Server, r driver.Request) bool {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr(), OnConnect: func(ctx context.Context, c *goredis.Conn) error {
		_ = c.ReadOnly(ctx).Err() // only nodes of a Cluster want to hear it
		return nil
	}})
	defer c.Close()
	value, err := c.Get(t.Context(), redis.DefaultPrefix+r.Name).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		t.Fatal(err)
	}
	return strings.HasPrefix(value, r.Owner+"\n")
}

// checkShortfall checks an error after which nothing may be left.
func checkShortfall(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "0 of 1 replicas confirmed in time") || !driver.HadNoEffect(err) || driver.IsPermanent(err) {
		t.Fatalf("%v (had no effect: %v, permanent: %v); want a shortfall that was undone", err, driver.HadNoEffect(err), driver.IsPermanent(err))
	}
	if !driver.IsSpent(err) {
		t.Errorf("an owner that was released may be used again after %v", err)
	}
}

func takeIsConfirmed(t *testing.T, c copied) {
	e := unguarded(t, c.client, redis.WithReplicas(1, 5*time.Second))
	r := lasting(c.tag+"confirmed", time.Minute)
	resume := c.stalled(t)
	taken := make(chan error, 1)
	go func() {
		_, err := e.Take(context.Background(), r)
		taken <- err
	}()
	eventually(t, "the master has granted the lease", func() bool { return holds(t, c.master, r) })
	select {
	case err := <-taken:
		t.Fatalf("Take has not waited for the replica: %v", err)
	default:
	}
	resume()
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if !holds(t, c.replica, r) {
		t.Error("the replica does not know of the lease")
	}
	release(t, e, r)
}

func takeIsUndone(t *testing.T, c copied) {
	e := unguarded(t, c.client, redis.WithReplicas(1, within/4))
	takes(t, e, lock(c.tag+"known"))
	c.stalled(t)
	lock, shared, permits := lock(c.tag+"undone"), lock(c.tag+"undone"), lock(c.tag+"undone")
	shared.Mode = driver.Shared
	permits.Kind = driver.Semaphore
	for _, r := range []driver.Request{lock, shared, permits} {
		for _, r.Join = range []bool{false, true} {
			_, err := e.Take(t.Context(), r)
			checkShortfall(t, err)
			if left := command(t, c.master, "EVAL", leftBehind, "0", c.tag+"undone"); left != "" {
				t.Fatalf("this is left behind by a %s %s: %v", r.Mode, r.Kind, left)
			}
		}
	}
}

// leftBehind finds keys of a name other than its token.
const leftBehind = `for _, key in ipairs(redis.call('KEYS', '*')) do
  if string.find(key, 'lock:' .. ARGV[1], 1, true) and not string.find(key, ':token$') then return key end
end
return ''`

// Whoever holds is told that the outcome is not known: the lease may go on or not.
func renewalIsUnknown(t *testing.T, c copied) {
	e := unguarded(t, c.client, redis.WithReplicas(1, within/4))
	held, shared, gone := lasting(c.tag+"renewed", time.Minute), lasting(c.tag+"shared", time.Minute), lasting(c.tag+"gone", time.Minute)
	shared.Mode = driver.Shared
	takes(t, e, held)
	takes(t, e, shared)
	resume := c.stalled(t)
	for _, r := range []driver.Request{held, shared} {
		err := renews(t.Context(), e, hold(r), time.Minute)
		if err == nil || driver.HadNoEffect(err) || driver.IsPermanent(err) || !strings.Contains(err.Error(), "0 of 1 replicas confirmed in time") {
			t.Errorf("Renew of a %s lock: %v, want a shortfall of unknown outcome", r.Mode, err)
		}
	}
	if err := renews(t.Context(), e, hold(gone), time.Minute); err == nil {
		t.Error("Renew of what is not held answered nil")
	}
	resume()
	for _, r := range []driver.Request{held, shared} {
		eventually(t, "the replica confirms again", func() bool { return renews(t.Context(), e, hold(r), time.Minute) == nil })
	}
}

// A waiter that is granted the lock by another's release has it confirmed, too.
func handOverIsConfirmed(t *testing.T, c copied) {
	e := unguarded(t, c.client, redis.WithReplicas(1, within/2))
	first, second := lasting(c.tag+"handed over", time.Minute), lasting(c.tag+"handed over", time.Minute)
	takes(t, e, first)
	second = joins(t, e, second)
	resume := c.stalled(t)
	got := waits(t, e, second)
	release(t, e, first)
	err := (<-got).err
	checkShortfall(t, err)
	resume()
	second = again(second, err) // the call keeps its turn
	eventually(t, "the next owner takes the lock", func() bool {
		if _, err = e.Take(t.Context(), second); err != nil {
			second = again(second, err)
		}
		return err == nil
	})
	release(t, e, second)
	if left := command(t, c.master, "EVAL", leftBehind, "0", c.tag+"handed over"); left != "" {
		t.Fatalf("this is left behind: %v", left)
	}
	second = lasting(second.Name, time.Minute)
	takes(t, e, first)
	second = joins(t, e, second)
	got = waits(t, e, second)
	release(t, e, first)
	granted(t, got)
	if !holds(t, c.replica, second) {
		t.Error("the replica does not know that the lock was handed over")
	}
	release(t, e, second)
}
