package objects_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// start starts a server and returns a client of go-redis for it. A program makes that with goredis.NewClient,
// NewFailoverClient or NewClusterClient.
func start() (rdb *goredis.Client, stop func()) {
	server, err := redisserver.Start(redisserver.Config{})
	if err != nil {
		log.Fatal(err)
	}
	rdb = goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	return rdb, func() {
		rdb.Close()
		server.Close()
	}
}

// connect starts a server and returns a client for its objects.
func connect() (r *objects.Client, stop func()) {
	rdb, stopServer := start()
	r, err := objects.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	return r, func() {
		r.Close()
		stopServer()
	}
}

func Example() {
	rdb, stop := start() // rdb is a client of go-redis
	defer stop()

	r, err := objects.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	lock := r.Lock("orders") // redisson.getLock("orders") in Java
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	ok, err := r.Lock("orders").TryLock(ctx) // another thread
	fmt.Println("a second holder:", ok, err)
	if err := lock.Unlock(); err != nil {
		log.Fatal(err)
	}
	// Output: a second holder: false <nil>
}

// The holder may lock again, and unlocks as often.
func ExampleClient_Lock() {
	r, stop := connect()
	defer stop()
	ctx := context.Background()

	lock := r.Lock("orders")
	for range 2 {
		if err := lock.Lock(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("held", lock.HoldCount(), "times")
	for range 2 {
		if err := lock.Unlock(); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("once more:", errors.Is(lock.Unlock(), objects.ErrNotHeld))
	// Output:
	// held 2 times
	// once more: true
}

// tryLock(2, 30, SECONDS) of Java: wait for up to 2 seconds, and hold the lock for at most 30.
func ExampleLock_TryLock() {
	r, stop := connect()
	defer stop()
	ctx := context.Background()

	lock := r.Lock("orders")
	ok, err := lock.TryLock(ctx, objects.WaitTime(2*time.Second), objects.LeaseTime(30*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	if !ok {
		fmt.Println("somebody else has it")
		return
	}
	defer lock.Unlock()
	left, err := lock.RemainingTime(ctx)
	fmt.Println("held for", left.Round(10*time.Second), err)
	// Output: held for 30s <nil>
}

// The context of a lock ends when the lock is lost, for example because somebody took it away.
func ExampleLock_Context() {
	rdb, stop := start()
	defer stop()
	r, err := objects.New(rdb, objects.WithWatchdogTimeout(time.Second)) // so that it notices soon
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	lock := r.Lock("orders")
	if err := lock.Lock(context.Background()); err != nil {
		log.Fatal(err)
	}
	work := lock.Context()
	if _, err := r.Lock("orders").ForceUnlock(context.Background()); err != nil {
		log.Fatal(err)
	}
	<-work.Done()
	fmt.Println("lost:", errors.Is(context.Cause(work), leasehold.ErrLost))
	fmt.Println("not held:", errors.Is(lock.Unlock(), objects.ErrNotHeld))
	// Output:
	// lost: true
	// not held: true
}

func ExampleLock_ForceUnlock() {
	r, stop := connect()
	defer stop()
	ctx := context.Background()

	if err := r.Lock("orders").Lock(ctx); err != nil {
		log.Fatal(err)
	}
	lock := r.Lock("orders") // of an operator
	locked, err := lock.IsLocked(ctx)
	fmt.Println("locked:", locked, err)
	freed, err := lock.ForceUnlock(ctx)
	fmt.Println("freed:", freed, err)
	// Output:
	// locked: true <nil>
	// freed: true <nil>
}

// Each hold has a larger token than those before.
func ExampleClient_FencedLock() {
	r, stop := connect()
	defer stop()

	lock := r.FencedLock("orders")
	for range 2 {
		if err := lock.Lock(context.Background()); err != nil {
			log.Fatal(err)
		}
		fmt.Println("token", lock.Token()) // send it with each write
		if err := lock.Unlock(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// token 1
	// token 2
}

func ExampleClient_SpinLock() {
	r, stop := connect()
	defer stop()

	lock := r.SpinLock("orders")
	if err := lock.Lock(context.Background()); err != nil {
		log.Fatal(err)
	}
	defer lock.Unlock()
	ok, err := r.Lock("orders").TryLock(context.Background()) // an RLock of the same name
	fmt.Println("held by somebody else, too:", ok, err)
	// Output: held by somebody else, too: false <nil>
}

// Each value has a place of its own in the queue.
func ExampleClient_FairLock() {
	r, stop := connect()
	defer stop()
	ctx := context.Background()

	first, second := r.FairLock("orders"), r.FairLock("orders")
	if err := first.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- second.Lock(ctx) }()
	if err := first.Unlock(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the next in the queue has it:", <-ended == nil)
	if err := second.Unlock(); err != nil {
		log.Fatal(err)
	}
	// Output: the next in the queue has it: true
}

func ExampleClient_ReadWriteLock() {
	r, stop := connect()
	defer stop()
	ctx := context.Background()

	a, b := r.ReadWriteLock("prices"), r.ReadWriteLock("prices")
	for _, reader := range []*objects.Lock{a.ReadLock(), b.ReadLock()} {
		if err := reader.Lock(ctx); err != nil {
			log.Fatal(err)
		}
		defer reader.Unlock()
	}
	ok, err := r.ReadWriteLock("prices").WriteLock().TryLock(ctx)
	fmt.Println("a writer beside two readers:", ok, err)
	// Output: a writer beside two readers: false <nil>
}

// A writer locks for reading, too, and goes on as a reader when it has unlocked for writing. Nobody writes in between.
func ExampleReadWriteLock() {
	r, stop := connect()
	defer stop()
	ctx := context.Background()

	lock := r.ReadWriteLock("prices")
	for _, each := range []*objects.Lock{lock.WriteLock(), lock.ReadLock()} {
		if err := each.Lock(ctx); err != nil {
			log.Fatal(err)
		}
	}
	if err := lock.WriteLock().Unlock(); err != nil {
		log.Fatal(err)
	}
	defer lock.ReadLock().Unlock()
	fmt.Println(lock.HoldCounts())
	written, err := r.ReadWriteLock("prices").WriteLock().IsLocked(ctx)
	fmt.Println("a writer holds it:", written, err)
	read, err := r.ReadWriteLock("prices").ReadLock().IsLocked(ctx)
	fmt.Println("a reader holds it:", read, err)
	// Output:
	// 0 1
	// a writer holds it: false <nil>
	// a reader holds it: true <nil>
}

// All of the locks, or none.
func ExampleNewMultiLock() {
	r, stop := connect()
	defer stop()
	ctx := context.Background()

	both, err := objects.NewMultiLock(r.Lock("from"), r.Lock("to"))
	if err != nil {
		log.Fatal(err)
	}
	if err := both.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	ok, err := r.Lock("to").TryLock(ctx)
	fmt.Println("one of them is free:", ok, err)
	if err := both.Unlock(); err != nil {
		log.Fatal(err)
	}
	// Output: one of them is free: false <nil>
}

// A majority of servers that know nothing of each other.
func ExampleNewRedLock() {
	var locks []*objects.Lock
	for range 3 {
		r, stop := connect() // each on a server of its own
		defer stop()
		locks = append(locks, r.Lock("orders"))
	}
	lock, err := objects.NewRedLock(locks...)
	if err != nil {
		log.Fatal(err)
	}
	if err := lock.Lock(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", lock.Context().Err() == nil)
	if err := lock.Unlock(); err != nil {
		log.Fatal(err)
	}
	// Output: held: true
}

func ExampleClient_Semaphore() {
	r, stop := connect()
	defer stop()
	ctx := context.Background()

	s := r.Semaphore("downloads")
	if _, err := s.TrySetPermits(ctx, 3); err != nil {
		log.Fatal(err)
	}
	if err := s.Acquire(ctx, 2); err != nil {
		log.Fatal(err)
	}
	ok, err := s.TryAcquire(ctx, 2)
	fmt.Println("two more:", ok, err)
	if err := s.Release(ctx, 2); err != nil {
		log.Fatal(err)
	}
	n, err := s.AvailablePermits(ctx)
	fmt.Println("available:", n, err)
	// Output:
	// two more: false <nil>
	// available: 3 <nil>
}

// A permit with a lease is free again when its holder has died.
func ExampleClient_PermitExpirableSemaphore() {
	r, stop := connect()
	defer stop()

	permit, err := r.PermitExpirableSemaphore("downloads", 3).Acquire(context.Background(), 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", permit.Context().Err() == nil)
	if err := permit.Release(); err != nil {
		log.Fatal(err)
	}
	// Output: held: true
}

// The number of permits is set once, and changes while programs run.
func ExamplePermitExpirableSemaphore() {
	r, stop := connect()
	defer stop()
	ctx := context.Background()

	s := r.PermitExpirableSemaphore("downloads", 10) // of which one program holds 10 at most
	if _, err := s.TrySetPermits(ctx, 3); err != nil {
		log.Fatal(err)
	}
	permit, err := s.Acquire(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer permit.Release()
	if err := s.SetPermits(ctx, 5); err != nil {
		log.Fatal(err)
	}
	available, err := s.AvailablePermits(ctx)
	fmt.Println("available:", available, err)
	// Output: available: 4 <nil>
}

// A program in Java has acquired a permit and handed its id over: String id = semaphore.acquire().
func ExamplePermitExpirableSemaphore_TryReleaseID() {
	r, stop := connect()
	defer stop()

	const id = "0123456789abcdef0123456789abcdef"
	held, err := r.PermitExpirableSemaphore("downloads", 3).TryReleaseID(context.Background(), id)
	fmt.Println("it was held:", held, err)
	// Output: it was held: false <nil>
}

func ExampleClient_CountDownLatch() {
	r, stop := connect()
	defer stop()
	ctx := context.Background()

	started := r.CountDownLatch("started")
	if _, err := started.TrySetCount(ctx, 2); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		go r.CountDownLatch("started").CountDown(ctx)
	}
	if err := started.Await(ctx); err != nil {
		log.Fatal(err)
	}
	n, err := started.Count(ctx)
	fmt.Println(n, err)
	// Output: 0 <nil>
}

// A NameMapper in Java that adds "app:" is a prefix here. In a Cluster, messages must be as those of Java.
func ExampleNew() {
	rdb, stop := start()
	defer stop()

	r, err := objects.New(rdb,
		objects.WithPrefix("app:"),
		objects.WithWatchdogTimeout(10*time.Second), // lockWatchdogTimeout
		objects.WithEngine(redisson.WithMessages(redisson.Unsharded)),
		objects.WithClient(leasehold.WithRequestTimeout(2*time.Second)),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	lock := r.Lock("orders")
	if err := lock.Lock(context.Background()); err != nil {
		log.Fatal(err)
	}
	defer lock.Unlock()
	fmt.Println(rdb.Keys(context.Background(), "*").Val())
	// Output: [app:orders]
}
