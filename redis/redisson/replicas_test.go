package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// replicaTest is a server with a replica that must confirm.
type replicaTest struct {
	*testing.T
	client          newClient
	tag             string // begins the names, so that the server has them
	master, replica *redisserver.Server
}

// How long replicas may take: those that are paused, and those that run, as busy machines make them late.
const (
	promptly  = 150 * time.Millisecond
	patiently = 5 * time.Second
)

// TestReplicasConfirm has checks that pause the replica, so they run one after another.
func TestReplicasConfirm(t *testing.T) {
	t.Parallel()
	for where, start := range map[string]func(t *testing.T) replicaTest{
		"OneServer": func(t *testing.T) replicaTest {
			r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
			return replicaTest{t, standalone(r.Master), "", r.Master, r.Replicas[0]}
		},
		"Cluster": func(t *testing.T) replicaTest {
			c := redisserver.ClusterForTest(t, 3, 1, redisserver.Config{})
			master, err := c.Owner(redisserver.Slot("tag"))
			must(t, err)
			replicas, err := c.ReplicasOf(master)
			must(t, err)
			return replicaTest{t, cluster(c), "{tag}", master, replicas[0]}
		},
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			for name, check := range map[string]func(replicaTest){
				"Take":    replicaTest.takeIsConfirmed,
				"Undo":    replicaTest.takeIsUndone,
				"Renewal": replicaTest.renewalIsUnknown,
				"Wait":    replicaTest.waitIsConfirmed,
				"Permits": replicaTest.permitsAreUndone,
				"Lease":   replicaTest.leaseIsNotExtended,
				"Objects": replicaTest.objectsAreUndone,
			} {
				t.Run(name, func(t *testing.T) {
					c := c
					c.T = t
					check(c)
				})
			}
		})
	}
}

// pause pauses the replica until the returned function is called or the test ends.
func (c replicaTest) pause() (resume func()) {
	c.Helper()
	must(c.T, c.replica.Pause())
	paused := true
	resume = func() {
		if paused {
			must(c.T, c.replica.Resume())
			must(c.T, c.replica.AwaitReplicaOf(c.master))
		}
		paused = false
	}
	c.Cleanup(resume)
	return resume
}

// keys are the keys of a server but those that outlast a hold: counters of tokens, and numbers of permits.
func (c replicaTest) keys(s *redisserver.Server) (keys []string) {
	c.Helper()
	rdb := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	defer rdb.Close()
	keys, err := rdb.Keys(context.Background(), "*").Result()
	must(c.T, err)
	lasting := regexp.MustCompile(`^(redisson_lock_token|leasehold_permits_set):|permits$`)
	return slices.DeleteFunc(keys, lasting.MatchString)
}

func (c replicaTest) mustBeEmpty() {
	c.Helper()
	if left := c.keys(c.master); len(left) > 0 {
		c.Errorf("left behind: %q", left)
	}
}

// requests are one request for each kind of hold, with the options of its engine.
func (c replicaTest) requests() map[string]replicaRequest {
	all := map[string]replicaRequest{}
	add := func(name string, r driver.Request, opts ...redisson.Option) {
		r.Name, r.Owner, r.TTL = c.tag+name, name, time.Minute
		all[name] = replicaRequest{r, opts}
	}
	lock := driver.Request{Key: driver.Key{Kind: driver.Lock}, Weight: 1, Size: 1}
	add("fenced", lock)
	add("plain", lock, redisson.WithLock(redisson.Plain))
	add("spin", lock, redisson.WithLock(redisson.Spin))
	add("fair", lock, redisson.WithLock(redisson.Fair))
	readWrite := []redisson.Option{redisson.WithLock(redisson.ReadWrite),
		redisson.WithJavaWatchdogTimeout(time.Hour)}
	add("write", lock, readWrite...)
	read := lock
	read.Mode = driver.Shared
	add("read", read, readWrite...)
	add("permits", driver.Request{Key: driver.Key{Kind: driver.Semaphore}, Weight: 2, Size: 3})
	return all
}

type replicaRequest struct {
	driver.Request
	opts []redisson.Option
}

// open opens an engine that knows its servers: a Cluster client may ask any of them first, even a paused one.
func (c replicaTest) open(within time.Duration, opts ...redisson.Option) *redisson.Engine {
	c.Helper()
	e := open(c.T, c.client, append(opts, redisson.WithReplicas(1, within))...)
	if _, err := e.LatchState(c.Context(), "none"); !errors.Is(err, driver.ErrNotSet) {
		c.Fatal(err)
	}
	return e
}

func (c replicaTest) release(e *redisson.Engine, r driver.Request) {
	c.Helper()
	must(c.T, e.Release(context.Background(), driver.Release{Hold: holdOf(r)}))
}

// A take returns only when the replica knows the hold.
func (c replicaTest) takeIsConfirmed() {
	for name, r := range c.requests() {
		e := c.open(patiently, r.opts...)
		resume := c.pause()
		taken := make(chan error, 1)
		go func() {
			_, err := e.Take(context.Background(), r.Request)
			taken <- err
		}()
		eventually(c.T, "the master has granted "+name, func() bool { return len(c.keys(c.master)) > 0 })
		select {
		case err := <-taken:
			c.Fatalf("%s: Take has not waited for the replica: %v", name, err)
		default:
		}
		resume()
		if err := <-taken; err != nil {
			c.Fatalf("%s: %v", name, err)
		}
		if len(c.keys(c.replica)) == 0 {
			c.Errorf("%s: the replica does not know the hold", name)
		}
		c.release(e, r.Request)
	}
	c.mustBeEmpty()
}

// isShortfall reports whether an error says that too few replicas have confirmed.
func isShortfall(err error) bool {
	return err != nil && strings.Contains(err.Error(), "redisson: 0 of 1 replicas confirmed in time") &&
		!driver.IsPermanent(err)
}

// What the replica does not confirm is undone, and no key is left behind.
func (c replicaTest) takeIsUndone() {
	engines := map[string]*redisson.Engine{}
	for name, r := range c.requests() {
		engines[name] = c.open(promptly, r.opts...)
	}
	c.pause()
	for name, r := range c.requests() {
		e := engines[name]
		for _, r.Join = range []bool{false, true} {
			_, err := e.Take(c.Context(), r.Request)
			if !isShortfall(err) || !driver.HadNoEffect(err) || !driver.IsSpent(err) {
				c.Errorf("%s: %v, want a shortfall that was undone", name, err)
			}
			c.mustBeEmpty()
		}
	}
}

// The outcome of a renewal that the replica does not confirm is unknown; one of what is not held is refused.
func (c replicaTest) renewalIsUnknown() {
	for name, r := range c.requests() {
		e, patient := c.open(promptly, r.opts...), c.open(patiently, r.opts...)
		_, err := patient.Take(c.Context(), r.Request)
		must(c.T, err)
		stranger := r.Request
		stranger.Owner = "stranger"
		renewBy := func(e *redisson.Engine, r driver.Request, ttl time.Duration) (err error) {
			e.Renew(c.Context(), []driver.Renewal{{Hold: holdOf(r), TTL: ttl}}, func(_ int, e error) { err = e })
			return err
		}
		renew := func(r driver.Request) error { return renewBy(e, r, 3*time.Minute) }
		must(c.T, renewBy(patient, r.Request, 2*time.Minute))
		others := open(c.T, c.client, r.opts...)
		_, err = others.LatchState(c.Context(), "none")
		if !errors.Is(err, driver.ErrNotSet) {
			c.Fatal(err)
		}
		resume := c.pause()
		// The replica does not know this. The script of the next renewal has nothing to write.
		must(c.T, renewBy(others, r.Request, 4*time.Minute))
		if err := renew(r.Request); !isShortfall(err) || driver.HadNoEffect(err) {
			c.Errorf("%s: %v, want a shortfall of unknown outcome", name, err)
		}
		if err := renew(stranger); !errors.Is(err, driver.ErrNotHeld) {
			c.Errorf("%s: renewal by a stranger: %v", name, err)
		}
		resume()
		eventually(c.T, "the replica confirms again", func() bool { return renew(r.Request) == nil })
		c.release(patient, r.Request)
	}
}

// A caller that waits goes on waiting if the replica does not confirm what it was granted.
func (c replicaTest) waitIsConfirmed() {
	for name, lock := range lockTypes {
		waits := waitObserver{make(chan struct{}, 1)}
		client := leasehold.New(c.open(promptly, redisson.WithLock(lock)), leasehold.WithObserver(waits))
		c.Cleanup(func() { _ = client.Close() })
		others := leasehold.New(open(c.T, c.client, redisson.WithLock(lock)))
		c.Cleanup(func() { _ = others.Close() })
		held, err := others.Mutex(c.tag+name, leasehold.TTL(10*time.Second)).Lock(c.Context())
		must(c.T, err)
		granted := make(chan error, 1)
		go func() {
			lease, err := client.Mutex(c.tag+name, leasehold.TTL(10*time.Second)).Lock(context.Background())
			granted <- errors.Join(err, leaseError(lease))
		}()
		<-waits.waiting
		resume := c.pause()
		must(c.T, held.Release())
		time.Sleep(2 * promptly) // in which it is granted the lock, and gives it back
		select {
		case err := <-granted:
			c.Fatalf("%s: Lock has not waited for the replica: %v", name, err)
		default:
		}
		resume()
		if err := <-granted; err != nil {
			c.Errorf("%s: %v", name, err)
		}
	}
	eventually(c.T, "all is released", func() bool { return len(c.keys(c.master)) == 0 })
}

// waitObserver is told when a caller waits.
type waitObserver struct{ waiting chan struct{} }

func (o waitObserver) ObserveWait(leasehold.Waiting) {
	select {
	case o.waiting <- struct{}{}:
	default:
	}
}

// leaseError releases a lease.
func leaseError(l *leasehold.Lease) error {
	if l == nil {
		return nil
	}
	return l.Release()
}

// Permits of a Semaphore that are not confirmed come back.
func (c replicaTest) permitsAreUndone() {
	s, patient := c.open(promptly).Semaphore(c.tag+"permits"), c.open(patiently).Semaphore(c.tag+"permits")
	_, err := patient.TrySetPermits(c.Context(), 3)
	must(c.T, err)
	mustAcquire(c.T, patient, 1, true)
	resume := c.pause()
	if ok, err := s.TryAcquire(c.Context(), 2); ok || !isShortfall(err) {
		c.Errorf("TryAcquire: %v, %v, want a shortfall", ok, err)
	}
	eventually(c.T, "the permits are back", func() bool {
		n, err := s.AvailablePermits(c.Context())
		return err == nil && n == 2
	})
	mustAcquire(c.T, s, 3, false) // which changes nothing
	acquired := make(chan error, 1)
	go func() { acquired <- s.Acquire(context.Background(), 2) }()
	time.Sleep(3 * promptly)
	select {
	case err := <-acquired:
		c.Fatalf("Acquire has not waited for the replica: %v", err)
	default:
	}
	resume()
	must(c.T, <-acquired)
	wantAvailable(c.T, s, 0)
	must(c.T, patient.Release(c.Context(), 2))
	resume = c.pause()
	if n, err := s.DrainPermits(c.Context()); n != 0 || !isShortfall(err) {
		c.Errorf("DrainPermits: %d, %v, want a shortfall", n, err)
	}
	resume()
	eventually(c.T, "the records expire", func() bool {
		_, err := c.master.Command("FLUSHALL")
		return err == nil
	})
}

// A lease whose renewals are not confirmed ends when it would have ended without them.
func (c replicaTest) leaseIsNotExtended() {
	client := leasehold.New(c.open(promptly / 3))
	c.Cleanup(func() { _ = client.Close() })
	const ttl = 2 * time.Second
	var began time.Time
	var lease *leasehold.Lease
	eventually(c.T, "the replica confirms the lock", func() (ok bool) {
		var err error
		began = time.Now()
		lease, err = client.Mutex(c.tag+"lease", leasehold.TTL(ttl)).Lock(c.Context())
		if err != nil && !isShortfall(err) {
			c.Fatal(err)
		}
		return err == nil
	})
	resume := c.pause()
	select {
	case <-lease.Context().Done():
	case <-time.After(3 * ttl):
		c.Fatal("the lease goes on")
	}
	c.Logf("the lease ended after %v", time.Since(began))
	if time.Since(began) > ttl+time.Second {
		c.Errorf("the lease ended after %v, its ttl is %v", time.Since(began), ttl)
	}
	resume()
	_ = lease.Release()
	eventually(c.T, "the lock is free", func() bool { return len(c.keys(c.master)) == 0 })
}

// objectLock is what all locks of package objects do.
type objectLock interface {
	TryLock(ctx context.Context, opts ...objects.LockOption) (bool, error)
	Unlock() error
}

// objects returns one lock of each kind, which replicas must confirm within a time.
func (c replicaTest) objects(client goredis.UniversalClient, within time.Duration) map[string]objectLock {
	c.Helper()
	o, err := objects.New(client, objects.WithEngine(redisson.WithReplicas(1, within)))
	must(c.T, err)
	c.Cleanup(func() { must(c.T, o.Close()) })
	multi, err := objects.NewMultiLock(o.Lock(c.tag+"f"), o.Lock(c.tag+"g"))
	must(c.T, err)
	return map[string]objectLock{
		"lock": o.Lock(c.tag + "a"), "fenced": o.FencedLock(c.tag + "b"), "spin": o.SpinLock(c.tag + "c"),
		"fair": o.FairLock(c.tag + "d"), "write": o.ReadWriteLock(c.tag + "e"),
		"multi": multi,
	}
}

// Objects get the option by WithEngine.
func (c replicaTest) objectsAreUndone() {
	client := c.client(c.T) // connects while the replica runs
	for _, l := range c.objects(client, patiently) {
		ok, err := l.TryLock(c.Context())
		if must(c.T, err); !ok {
			c.Fatal("a free lock is held")
		}
		must(c.T, l.Unlock())
	}
	locks := c.objects(client, promptly)
	c.pause()
	for _, kind := range slices.Sorted(maps.Keys(locks)) {
		if ok, err := locks[kind].TryLock(c.Context()); ok || !isShortfall(err) {
			c.Errorf("%s: %v, %v, want a shortfall", kind, ok, err)
		}
		c.mustBeEmpty()
	}
}

// A replica that has confirmed a lock refuses it to others once it is promoted.
func TestReplicaThatConfirmedKnowsTheLock(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	c := replicaTest{t, standalone(r.Master), "", r.Master, r.Replicas[0]}
	for _, request := range c.requests() {
		_, err := c.open(time.Second, request.opts...).Take(t.Context(), request.Request)
		must(t, err)
	}
	r.Master.Kill()
	if _, err := r.Replicas[0].Command("REPLICAOF", "NO", "ONE"); err != nil {
		t.Fatal(err)
	}
	for name, request := range c.requests() {
		e := open(t, standalone(r.Replicas[0]), request.opts...)
		other := request.Request
		other.Owner, other.Mode = "other", driver.Exclusive
		if _, err := e.Take(t.Context(), other); !errors.Is(err, driver.ErrHeld) {
			t.Errorf("%s: %v, want that it is held", name, err)
		}
		must(t, e.Release(t.Context(), driver.Release{Hold: holdOf(request.Request)}))
	}
}

func TestReplicasOption(t *testing.T) {
	t.Parallel()
	client := closed(t, goredis.NewClient(&goredis.Options{}))
	for _, wrong := range []redisson.Option{
		redisson.WithReplicas(-1, time.Second), redisson.WithReplicas(101, time.Second),
		redisson.WithReplicas(1, 0), redisson.WithReplicas(1, 6*time.Second),
	} {
		_, err := redisson.New(client, wrong)
		if e, ok := errors.AsType[*redisson.OptionError](err); !ok || e.Option != "WithReplicas" {
			t.Error(err)
		}
	}
	s := redisserver.ForTest(t, redisserver.Config{})
	e, err := redisson.Open(fmt.Sprintf("redisson://%s?replicas=1&replicas_wait=10ms", s.Addr()))
	must(t, err)
	defer e.Close()
	r := request("owner", "order", driver.Exclusive)
	if _, err := e.Take(t.Context(), r); !isShortfall(err) {
		t.Errorf("a server without replicas: %v", err)
	}
	for _, wrong := range []string{"replicas=-1", "replicas_wait=1s", "replicas=1&replicas_wait=6s"} {
		if _, err := redisson.Open("redisson://localhost?" + wrong); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
