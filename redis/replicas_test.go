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

// confirmTimeout is how long replicas may take to confirm. It suffices for replicas that run.
const confirmTimeout = time.Second

// replicaTest is a server that keeps some names, with a replica that must confirm.
type replicaTest struct {
	tag     string // begins the names
	client  newClient
	master  *redisserver.Server
	replica *redisserver.Server
}

// TestReplicas has checks that pause the replica, so they run one after another.
func TestReplicas(t *testing.T) {
	t.Parallel()
	sets := map[string]replicaTest{}
	for name, client := range map[string]func(newClient) newClient{"Plain": plain, "AutoPipeline": pipelined} {
		r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
		sets["OneServer"+name] = replicaTest{"", client(standalone(r.Master)), r.Master, r.Replicas[0]}
	}
	c := redisserver.ClusterForTest(t, 3, 1, redisserver.Config{})
	sets["ClusterPlain"] = replicaTest{tagOn(0), cluster(c), c.Nodes[0], c.Nodes[3]}
	sets["ClusterAutoPipeline"] = replicaTest{tagOn(1), pipelined(cluster(c)), c.Nodes[1], c.Nodes[4]}
	// A Cluster that answers INFO as Valkey 8 and 9 do is a Cluster as well: WAIT counts only on the server
	// and connection of the change.
	sets["ClusterThatSpeaksAsValkey"] = replicaTest{tagOn(2), withInfoHook(cluster(c), asValkey), c.Nodes[2],
		c.Nodes[5]}
	for name, c := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, check := range map[string]func(*testing.T, replicaTest){
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

// pauseReplica pauses the replica until the returned function is called or the test ends.
func (c replicaTest) pauseReplica(t *testing.T) (resume func()) {
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

// hasLock reports whether a server, which may be a replica, knows of a lock of this owner.
func hasLock(t *testing.T, s *redisserver.Server, r driver.Request) bool {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr(),
		OnConnect: func(ctx context.Context, c *goredis.Conn) error {
			_ = c.ReadOnly(ctx).Err() // only nodes of a Cluster need it
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
	if err == nil || !strings.Contains(err.Error(), "0 of 1 replicas confirmed in time") || !driver.HadNoEffect(err) ||
		driver.IsPermanent(err) {
		t.Fatalf("%v (had no effect: %v, permanent: %v); want a shortfall that was undone", err,
			driver.HadNoEffect(err), driver.IsPermanent(err))
	}
	if !driver.IsSpent(err) {
		t.Errorf("an owner that was released may be used again after %v", err)
	}
}

func takeIsConfirmed(t *testing.T, c replicaTest) {
	e := unguarded(t, c.client, redis.WithReplicas(1, 5*time.Second))
	r := lasting(c.tag+"confirmed", time.Minute)
	resume := c.pauseReplica(t)
	taken := make(chan error, 1)
	go func() {
		_, err := e.Take(context.Background(), r)
		taken <- err
	}()
	eventually(t, "the master has granted the lease", func() bool { return hasLock(t, c.master, r) })
	select {
	case err := <-taken:
		t.Fatalf("Take has not waited for the replica: %v", err)
	default:
	}
	resume()
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if !hasLock(t, c.replica, r) {
		t.Error("the replica does not know the lease")
	}
	release(t, e, r)
}

func takeIsUndone(t *testing.T, c replicaTest) {
	e := unguarded(t, c.client, redis.WithReplicas(1, confirmTimeout/4))
	mustTake(t, e, lock(c.tag+"known"))
	c.pauseReplica(t)
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

// A holder is told that the outcome is unknown: the lease may go on or not.
func renewalIsUnknown(t *testing.T, c replicaTest) {
	e := unguarded(t, c.client, redis.WithReplicas(1, confirmTimeout/4))
	held, shared, gone := lasting(c.tag+"renewed", time.Minute), lasting(c.tag+"shared", time.Minute),
		lasting(c.tag+"gone", time.Minute)
	shared.Mode = driver.Shared
	mustTake(t, e, held)
	mustTake(t, e, shared)
	resume := c.pauseReplica(t)
	for _, r := range []driver.Request{held, shared} {
		err := renewOne(t.Context(), e, hold(r), time.Minute)
		if err == nil || driver.HadNoEffect(err) || driver.IsPermanent(err) ||
			!strings.Contains(err.Error(), "0 of 1 replicas confirmed in time") {
			t.Errorf("Renew of a %s lock: %v, want a shortfall of unknown outcome", r.Mode, err)
		}
	}
	if err := renewOne(t.Context(), e, hold(gone), time.Minute); err == nil {
		t.Error("Renew of what is not held answered nil")
	}
	resume()
	for _, r := range []driver.Request{held, shared} {
		eventually(t, "the replica confirms again",
			func() bool { return renewOne(t.Context(), e, hold(r), time.Minute) == nil })
	}
}

// A hand-over is confirmed by the replica, too.
func handOverIsConfirmed(t *testing.T, c replicaTest) {
	e := unguarded(t, c.client, redis.WithReplicas(1, confirmTimeout/2))
	first, second := lasting(c.tag+"handed over", time.Minute), lasting(c.tag+"handed over", time.Minute)
	mustTake(t, e, first)
	second = mustJoin(t, e, second)
	resume := c.pauseReplica(t)
	got := startWait(t, e, second)
	release(t, e, first)
	err := (<-got).err
	checkShortfall(t, err)
	resume()
	second = nextOwner(second, err) // the call keeps its turn
	eventually(t, "the next owner takes the lock", func() bool {
		if _, err = e.Take(t.Context(), second); err != nil {
			second = nextOwner(second, err)
		}
		return err == nil
	})
	release(t, e, second)
	if left := command(t, c.master, "EVAL", leftBehind, "0", c.tag+"handed over"); left != "" {
		t.Fatalf("this is left behind: %v", left)
	}
	second = lasting(second.Name, time.Minute)
	mustTake(t, e, first)
	second = mustJoin(t, e, second)
	got = startWait(t, e, second)
	release(t, e, first)
	granted(t, got)
	if !hasLock(t, c.replica, second) {
		t.Error("the replica does not know that the lock was handed over")
	}
	release(t, e, second)
}
