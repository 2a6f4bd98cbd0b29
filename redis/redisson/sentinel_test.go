package redisson_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// Behind Sentinels, a lock that the new master knows is kept through a failover, and its waiter is notified of the
// unlock there. A lock that the new master does not know is granted again, and who held it is told. The engine is
// opened by a URL, and objects have a client of their own.
func TestFailoverBySentinels(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	s := redisserver.SentinelsForTest(t, 1, r)
	const ttl = 9 * time.Second
	byURL := func(lock string) *leasehold.Client {
		e, err := redisson.Open("redisson+sentinel://" + strings.Join(s.Addrs(), ",") + "/" + redisserver.MasterName +
			"?java_watchdog=10s&lock=" + lock)
		must(t, err)
		c := leasehold.New(e)
		t.Cleanup(func() { must(t, errors.Join(c.Close(), e.Close())) })
		return c
	}
	type pair struct {
		kind    string
		release func() error
		wait    func(context.Context) error
		waited  chan error
	}
	var pairs []*pair
	for _, lock := range []string{"fenced", "plain", "fair", "readwrite"} {
		lease, err := byURL(lock).Mutex(lock, leasehold.TTL(ttl)).Lock(t.Context())
		must(t, err)
		waiter := byURL(lock).Mutex(lock, leasehold.TTL(ttl))
		pairs = append(pairs, &pair{kind: lock, release: lease.Release, wait: func(ctx context.Context) error {
			lease, err := waiter.Lock(ctx)
			return errors.Join(err, leaseError(lease))
		}})
	}
	object := func() *objects.Lock {
		o, err := objects.New(closed(t, goredis.NewFailoverClient(&goredis.FailoverOptions{
			MasterName: redisserver.MasterName, SentinelAddrs: s.Addrs(), ContextTimeoutEnabled: true,
		})), objects.WithWatchdogTimeout(ttl))
		must(t, err)
		t.Cleanup(func() { must(t, o.Close()) })
		return o.Lock("object")
	}
	holder, waiter := object(), object()
	must(t, holder.Lock(t.Context()))
	pairs = append(pairs, &pair{kind: "objects", release: holder.Unlock, wait: func(ctx context.Context) error {
		if err := waiter.Lock(ctx); err != nil {
			return err
		}
		return waiter.Unlock()
	}})
	lost, err := byURL("fenced").Mutex("lost", leasehold.TTL(ttl)).Lock(t.Context())
	must(t, err)

	channels := func(master *redisserver.Server) int {
		answer, err := master.Command("PUBSUB", "CHANNELS", "redisson_*")
		must(t, err)
		list, _ := answer.([]any)
		return len(list)
	}
	for _, p := range pairs {
		p.waited = make(chan error, 1)
		go func() { p.waited <- p.wait(context.Background()) }()
	}
	eventually(t, "all waiters are subscribed", func() bool { return channels(r.Master) == len(pairs) })
	replica := r.Replicas[0]
	must(t, replica.AwaitReplicaOf(r.Master))
	for _, command := range [][]string{{"CONFIG", "SET", "replica-read-only", "no"}, {"DEL", "lost"}} {
		if _, err := replica.Command(command...); err != nil { // as if the lock had not arrived
			t.Fatal(err)
		}
	}
	killed := time.Now()
	r.Master.Kill()
	promoted, err := s.AwaitMaster(r.Master)
	must(t, err)
	eventually(t, "all waiters are subscribed to the new master", func() bool {
		return channels(promoted) == len(pairs)
	})
	t.Logf("all waiters were subscribed to the new master after %v", time.Since(killed))

	other, err := byURL("fenced").Mutex("lost", leasehold.TTL(ttl)).TryLock(t.Context())
	must(t, err)
	select {
	case <-lost.Context().Done():
		t.Logf("the holder of the lost lock was told %v after the failure", time.Since(killed))
	case <-time.After(ttl):
		t.Error("the holder of a lost lock was not told")
	}
	must(t, other.Release())

	time.Sleep(time.Until(killed.Add(ttl * 5 / 4))) // what nobody renews has ended
	for _, p := range pairs {
		select {
		case err := <-p.waited:
			t.Errorf("%s: two hold it after the failover: %v", p.kind, err)
			continue
		default:
		}
		began := time.Now()
		must(t, p.release())
		// Without a message, all but the fair ones would ask again only after ten seconds.
		if err := <-p.waited; err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("%s: the waiter had it after %v: %v", p.kind, time.Since(began), err)
		}
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
