package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// clusterClients are the kinds of clients of a Cluster, by name.
func clusterClients(c *redisserver.Cluster) map[string]newClient {
	return map[string]newClient{"Plain": cluster(c), "AutoPipeline": pipelined(cluster(c))}
}

// TestCluster has the checks that leave a Cluster as it was.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 1, redisserver.Config{})
	for name, client := range clusterClients(c) {
		for check, run := range map[string]func(*testing.T, *redisserver.Cluster, newClient){
			"LocksAreOnAllShards":     checkLocksOnAllShards,
			"HandOverIsBySPublish":    handOverIsBySPublish,
			"SlotIsMoved":             slotIsMoved,
			"SlotIsMovedWithReplicas": slotIsMovedWithReplicas,
			"TakeWhileSlotIsMoved":    takeWhileSlotIsMoved,
		} {
			t.Run(name+"/"+check, func(t *testing.T) {
				t.Parallel()
				run(t, c, client)
			})
		}
	}
	readsReplicas := func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs(), ReadOnly: true}))
	}
	t.Run("Plain/ReadFromReplicas", func(t *testing.T) {
		t.Parallel()
		readFromReplicas(t, c, readsReplicas)
	})
	t.Run("AutoPipeline/ReadFromReplicas", func(t *testing.T) { // it hides the options of its client
		t.Parallel()
		readFromReplicas(t, c, pipelined(readsReplicas), redis.WithPolling())
	})
	t.Run("AutoPipeline/LooksGoToMasters", func(t *testing.T) {
		t.Parallel()
		checkListingAsksMasters(t, c, pipelined(readsReplicas))
	})
}

// checkListingAsksMasters lists locks through a client that sends read-only commands to replicas, and hides that.
func checkListingAsksMasters(t *testing.T, c *redisserver.Cluster, client newClient) {
	e := unguarded(t, cluster(c))
	for i := range 20 {
		name := fmt.Sprint(t.Name(), i)
		mustTake(t, e, lasting(name, time.Minute))
		page, err := unguarded(t, client).List(t.Context(), driver.Query{Kind: driver.Lock, Name: name})
		if err != nil || len(page) != 1 {
			t.Errorf("%s: %v, %v", name, page, err)
		}
	}
}

func checkLocksOnAllShards(t *testing.T, c *redisserver.Cluster, client newClient) {
	e := unguarded(t, client)
	prefix := t.Name() + "/"
	var want []string
	for i := range 30 {
		r := lasting(fmt.Sprintf("%s%02d", prefix, i), time.Minute)
		mustTake(t, e, r)
		want = append(want, r.Name)
	}
	for _, n := range c.Nodes[:3] {
		pattern := redis.DefaultPrefix + prefix + "*"
		if command(t, n, "EVAL", "return #redis.call('KEYS', ARGV[1])", "0", pattern) == int64(0) {
			t.Errorf("no lock is on %s", n.Addr())
		}
	}

	// A listing that is the first request of an engine goes over all shards, too, in pages or not.
	e = unguarded(t, client)
	var got []string
	q := driver.Query{Kind: driver.Lock, Prefix: prefix, Limit: 7}
	for {
		page, err := e.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, st := range page {
			got = append(got, st.Name)
		}
		q.After = page[len(page)-1].Key
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func handOverIsBySPublish(t *testing.T, c *redisserver.Cluster, client newClient) {
	a, b := unguarded(t, client), unguarded(t, client)
	for shard := range 3 {
		name := tagOn(shard) + t.Name()
		first, second := lasting(name, time.Minute), lasting(name, time.Minute)
		mustTake(t, a, first)
		second = mustJoin(t, b, second)
		got := startWait(t, b, second)
		before := commandCalls(t, c.Nodes[shard], "spublish")
		released := time.Now()
		release(t, a, first)
		if g := granted(t, got); g.at.Sub(released) > soon {
			t.Errorf("shard %d: the waiter has its turn %v after the release", shard, g.at.Sub(released))
		}
		if commandCalls(t, c.Nodes[shard], "spublish") == before {
			t.Errorf("shard %d: nobody was notified", shard)
		}
		release(t, b, second)
	}
}

// A client that reads from replicas subscribes there, too. The masters do not know of these subscriptions, so waiters
// poll.
func readFromReplicas(t *testing.T, c *redisserver.Cluster, client newClient, opts ...redis.Option) {
	a, b := unguarded(t, cluster(c)), unguarded(t, client, opts...)
	for shard := range 3 {
		first, second := lasting(tagOn(shard)+t.Name(), time.Minute), lasting(tagOn(shard)+t.Name(), time.Minute)
		mustTake(t, a, first)
		second = mustJoin(t, b, second)
		got := startWait(t, b, second)
		released := time.Now()
		release(t, a, first)
		if g := granted(t, got); g.at.Sub(released) > soon {
			t.Errorf("shard %d: the waiter has its turn %v after the release", shard, g.at.Sub(released))
		}
		if _, err := a.Take(t.Context(), lasting(first.Name, time.Minute)); !errors.Is(err, driver.ErrHeld) {
			t.Errorf("shard %d: a Take while another holds: %v, want ErrHeld", shard, err)
		}
		release(t, b, second)
	}
}

// retryUntilAnswered repeats a request until it has an answer, as the core does.
func retryUntilAnswered(t *testing.T, what string, try func() error) {
	t.Helper()
	var last error
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if driver.IsNo(err) || driver.IsPermanent(err) {
			t.Fatalf("%s: %v", what, err)
		}
		if last == nil || last.Error() != err.Error() {
			t.Logf("%s: %v", what, err)
		}
		last = err
		if time.Now().After(end) {
			t.Fatalf("%s does not get through: %v", what, err)
		}
	}
}

func slotIsMoved(t *testing.T, c *redisserver.Cluster, client newClient) {
	moveSlot(t, c, client)
}

func slotIsMovedWithReplicas(t *testing.T, c *redisserver.Cluster, client newClient) {
	moveSlot(t, c, client, redis.WithReplicas(1, 5*time.Second))
}

// longestPause is the longest pause of the engine before it asks again for a slot that is being moved.
const longestPause = 200 * time.Millisecond

// moving is held while a slot is moved: the nodes do not agree if two are moved at the same time.
var moving sync.Mutex

// moveSlot moves, step by step, a slot with a lock that is held and waited for.
func moveSlot(t *testing.T, c *redisserver.Cluster, client newClient, opts ...redis.Option) {
	a, b := unguarded(t, client, opts...), unguarded(t, client, opts...)
	tag := "{" + t.Name() + "}"
	held, other := lasting(tag+"held", time.Minute), lasting(tag+"other", time.Minute)
	token := mustTake(t, a, held).Token
	mustTake(t, a, other)
	second := mustJoin(t, b, lasting(held.Name, time.Minute))
	got := make(chan grant, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		g, err := takeDespiteErrors(ctx, b, second)
		got <- grant{g, err, time.Now()}
	}()

	moving.Lock()
	defer moving.Unlock()
	slot := redisserver.Slot(tag)
	from, err := c.Owner(slot)
	if err != nil {
		t.Fatal(err)
	}
	to := c.Nodes[(slices.Index(c.Nodes[:3], from)+1)%3]
	m, err := c.StartMigration(slot, to)
	if err != nil {
		t.Fatal(err)
	}
	stays := lasting(tagOn(slices.Index(c.Nodes, from))+t.Name(), time.Minute)
	mustTake(t, a, stays)
	retryUntilAnswered(t, "the renewal before a key was moved",
		func() error { return renewOne(ctx, a, hold(held), time.Minute) })
	if err := m.Move(redis.DefaultPrefix + held.Name); err != nil {
		t.Fatal(err)
	}
	// The slot's server redirects requests for the lock to a server that does not own the slot yet.
	if err := renewOne(ctx, a, hold(held), time.Minute); driver.IsNo(err) || driver.IsPermanent(err) {
		t.Errorf("the renewal while the lock is on its way: %v", err)
	}
	if err := takeWithin(300*time.Millisecond, a, lock(tag+"new")); err == nil || driver.IsNo(err) ||
		driver.IsPermanent(err) {
		t.Errorf("a take in a slot that is being moved: %v", err)
	}
	if err := m.Finish(); err != nil {
		t.Fatal(err)
	}
	// The engine still believes that both are on one server.
	batch := []driver.Renewal{{Hold: hold(stays), TTL: time.Minute}, {Hold: hold(held), TTL: time.Minute}}
	retryUntilAnswered(t, "the renewal after the slot was moved", func() error { return renewAll(ctx, a, batch) })
	if st := status(t, a, held.Key); len(st.Holders) != 1 || st.Holders[0].Token != token || st.Waiting != 1 {
		t.Errorf("after the slot was moved, listed %+v, want token %d and one waiter", st, token)
	}
	select {
	case g := <-got:
		t.Fatalf("the waiter was granted token %d, %v while the lock was held", g.Token, g.err)
	default:
	}
	retryUntilAnswered(t, "the release", func() error { return a.Release(ctx, driver.Release{Hold: hold(held)}) })
	if g := granted(t, got); g.Token <= token {
		t.Errorf("token %d follows %d", g.Token, token)
	}
	release(t, b, second)
	release(t, a, other)
	release(t, a, stays)
}

// takeWithin takes with a deadline.
func takeWithin(limit time.Duration, e *redis.Engine, r driver.Request) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := e.Take(ctx, r)
	return err
}

// takeWhileSlotIsMoved takes what is free in a slot that is being moved: this succeeds when the move is finished, and
// not before.
func takeWhileSlotIsMoved(t *testing.T, c *redisserver.Cluster, client newClient) {
	moving.Lock()
	defer moving.Unlock()
	tag := "{" + t.Name() + "}"
	// the slot stays closed for so long after its move
	known, guarded := unguarded(t, client), open(t, client, redis.WithMaxTTL(time.Second))
	for i, n := range c.Nodes[:3] {
		trust(t, n)
		mustTake(t, guarded, lasting(tagOn(i)+t.Name(), time.Minute))
	}
	engines := map[string]*redis.Engine{"knows the slot": known, "knows nothing": unguarded(t, client),
		"is guarded": guarded}
	before, released := lasting(tag+"before", time.Hour), lasting(tag+"released", time.Hour)
	mustTake(t, known, before)
	mustTake(t, known, released)
	slot := redisserver.Slot(tag)
	from, err := c.Owner(slot)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.StartMigration(slot, c.Nodes[(slices.Index(c.Nodes[:3], from)+1)%3])
	if err != nil {
		t.Fatal(err)
	}
	const limit, tries = 500 * time.Millisecond, 100
	for kind, e := range engines {
		for try := 1; ; try++ {
			began := time.Now()
			err := takeWithin(limit, e, lasting(tag+kind, time.Minute))
			if err == nil {
				t.Errorf("an engine that %s has taken what is being moved", kind)
			}
			if driver.HadNoEffect(err) && !driver.IsNo(err) && !driver.IsPermanent(err) &&
				strings.Contains(err.Error(), "being moved") && time.Since(began) > limit-longestPause {
				break
			}
			if try == tries { // the context may end while a request is in flight, which the client repeats for a while
				t.Errorf("a take by an engine that %s: %v, want that the slot is being moved, without effect, after %v",
					kind, err, limit)
				break
			}
		}
	}
	if err := m.Move(redis.DefaultPrefix + before.Name); err != nil {
		t.Fatal(err)
	}

	refused := func() int {
		n := 0
		for _, node := range c.Nodes[:3] {
			var count int
			is, _ := node.Info("errorstat_TRYAGAIN")
			_, _ = fmt.Sscanf(is, "count=%d", &count)
			n += count
		}
		return n
	}
	seen := refused()
	outcomes := make(chan error, len(engines)+1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for kind, e := range engines {
		go func() {
			_, err := takeDespiteErrors(ctx, e, lasting(tag+kind, time.Minute))
			if err != nil {
				err = fmt.Errorf("a take by an engine that %s: %w", kind, err)
			}
			outcomes <- err
		}()
	}
	go func() { outcomes <- known.Release(ctx, driver.Release{Hold: hold(before)}) }()
	eventually(t, "a request is refused because the slot is being moved",
		func() bool { return len(outcomes) > 0 || refused() > seen+2 })
	select {
	case err := <-outcomes:
		t.Fatalf("an outcome before the slot was moved: %v", err)
	default:
	}
	if err := m.Finish(); err != nil {
		t.Fatal(err)
	}
	for range len(engines) + 1 {
		if err := <-outcomes; err != nil {
			t.Error(err)
		}
	}
	release(t, known, released)
}

// renewAll renews some leases, and returns the errors.
func renewAll(ctx context.Context, e *redis.Engine, batch []driver.Renewal) error {
	var mu sync.Mutex
	errs := []error{errors.New("not all were reported")}
	reported := 0
	e.Renew(ctx, batch, func(_ int, err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
		if reported++; reported == len(batch) {
			errs[0] = nil
		}
	})
	return errors.Join(errs...)
}
