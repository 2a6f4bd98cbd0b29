package leasehold_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// A lease is taken, used and released. Clients on one engine exclude each other, here two of one process.
func Example() {
	ctx := context.Background()
	engine := memory.New()
	here, there := leasehold.New(engine), leasehold.New(engine)
	defer here.Close()
	defer there.Close()

	lease, err := here.Mutex("order:1001").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = there.Mutex("order:1001").TryLock(ctx)
	fmt.Println("held elsewhere:", errors.Is(err, leasehold.ErrHeld))

	if err := lease.Release(); err != nil {
		fmt.Println(err)
	}
	lease, err = there.Mutex("order:1001").TryLock(ctx)
	fmt.Println("after the release:", err)
	lease.Release()
	// Output:
	// held elsewhere: true
	// after the release: <nil>
}

// Use one client per process and engine. Close releases what is still held.
func ExampleClient() {
	ctx := context.Background()
	engine := memory.New()
	client := leasehold.New(engine,
		leasehold.WithHolder("billing-3"),
		leasehold.WithDefaults(leasehold.TTL(10*time.Second)))

	lease, err := client.Mutex("order:1001").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	client.Close()
	fmt.Println(context.Cause(lease.Context()))
	_, err = client.Mutex("order:1001").Lock(ctx)
	fmt.Println(err)
	// Output:
	// client closed
	// leasehold: lock "order:1001": client closed
}

// Lock waits until the lock is granted, until its context ends, or for as long as WaitLimit allows.
func ExampleMutex_Lock() {
	ctx := context.Background()
	client := leasehold.New(memory.New())
	defer client.Close()

	m := client.Mutex("order:1001", leasehold.TTL(10*time.Second), leasehold.WaitLimit(50*time.Millisecond))
	lease, err := m.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release() // works when ctx has ended, too

	_, err = m.Lock(ctx) // another caller
	fmt.Println(errors.Is(err, leasehold.ErrTimeout))
	// Output: true
}

// TryLock does not wait.
func ExampleMutex_TryLock() {
	ctx := context.Background()
	client := leasehold.New(memory.New())
	defer client.Close()

	m := client.Mutex("nightly-report")
	for range 2 {
		_, err := m.TryLock(ctx)
		switch {
		case err == nil:
			fmt.Println("it is up to us")
		case errors.Is(err, leasehold.ErrHeld):
			fmt.Println("somebody else does it")
		default:
			fmt.Println(err)
		}
	}
	// Output:
	// it is up to us
	// somebody else does it
}

// Do releases the lock in any case.
func ExampleMutex_Do() {
	client := leasehold.New(memory.New())
	defer client.Close()

	err := client.Mutex("order:1001").Do(context.Background(), func(ctx context.Context, lease *leasehold.Lease) error {
		// ctx is cancelled if the lock is lost.
		fmt.Println("working on", lease.Name())
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// working on order:1001
	// <nil>
}

// The holder of a lock may take it again: the context of its lease tells who it is.
func ExampleMutex_reentry() {
	client := leasehold.New(memory.New())
	defer client.Close()
	m := client.Mutex("order:1001")

	pay := func(ctx context.Context) error {
		return m.Do(ctx, func(context.Context, *leasehold.Lease) error {
			fmt.Println("paid")
			return nil
		})
	}
	err := m.Do(context.Background(), func(ctx context.Context, _ *leasehold.Lease) error {
		return pay(ctx)
	})
	fmt.Println(err)
	// Output:
	// paid
	// <nil>
}

// Many readers at the same time, or one writer.
func ExampleRWMutex() {
	ctx := context.Background()
	client := leasehold.New(memory.New())
	defer client.Close()
	m := client.RWMutex("catalogue")

	one, err := m.RLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	other, err := m.TryRLock(ctx)
	fmt.Println("another reader:", err)
	_, err = m.TryLock(ctx)
	fmt.Println("a writer is kept out:", errors.Is(err, leasehold.ErrHeld))

	one.Release()
	other.Release()
	writer, err := m.TryLock(ctx)
	fmt.Println("a writer:", err)
	writer.Release()
	// Output:
	// another reader: <nil>
	// a writer is kept out: true
	// a writer: <nil>
}

// A semaphore limits how much is used at the same time.
func ExampleSemaphore() {
	ctx := context.Background()
	client := leasehold.New(memory.New())
	defer client.Close()
	s := client.Semaphore("gpu", 4)

	large, err := s.Acquire(ctx, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = s.TryAcquire(ctx, 2)
	fmt.Println("two more:", errors.Is(err, leasehold.ErrHeld))
	small, err := s.TryAcquire(ctx, 1)
	fmt.Println("one more:", err)
	small.Release()
	large.Release()
	// Output:
	// two more: true
	// one more: <nil>
}

// The latch lets the waiter go on when all others have arrived.
func ExampleLatch() {
	ctx := context.Background()
	client := leasehold.New(memory.New())
	defer client.Close()

	arrived := client.Latch("migration:7")
	if _, err := arrived.TrySet(ctx, 3); err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		go arrived.CountDown(ctx)
	}
	fmt.Println(arrived.Wait(ctx))
	left, err := arrived.Count(ctx)
	fmt.Println(left, err)
	// Output:
	// <nil>
	// 0 <nil>
}

// Several names are taken together, or none of them. The order in which they are given does not matter.
func ExampleClient_LockAll() {
	ctx := context.Background()
	client := leasehold.New(memory.New())
	defer client.Close()

	set, err := client.LockAll(ctx, "account:7", "account:3")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Release()
	for _, lease := range set.Leases() {
		fmt.Println(lease.Name())
	}
	fmt.Println(set.Context().Err()) // is cancelled as soon as one of them is lost
	// Output:
	// account:3
	// account:7
	// <nil>
}

// Each name of a set has a fencing token of its own.
func ExampleLeaseSet_Token() {
	client := leasehold.New(memory.New())
	defer client.Close()
	set, err := client.LockAll(context.Background(), "account:7", "account:3")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Release()
	three, _ := set.Token("account:3")
	seven, _ := set.Token("account:7")
	fmt.Println(three > 0, seven > 0)
	_, err = set.Token("account:1")
	fmt.Println(err)
	// Output:
	// true true
	// leasehold: name "account:1" is not allowed: it must be one of the 2 names of the set
}

// One candidate leads at a time, and everybody can see which.
func ExampleElection() {
	ctx := context.Background()
	client := leasehold.New(memory.New())
	defer client.Close()
	e := client.Election("scheduler")

	lead, err := e.Campaign(ctx, "node-1") // waits until node-1 leads
	if err != nil {
		fmt.Println(err)
		return
	}
	leader, err := e.Leader(ctx)
	fmt.Println(leader.ID, leader.Token == lead.Token(), err)

	lead.Release() // resign
	_, err = e.Leader(ctx)
	fmt.Println(errors.Is(err, leasehold.ErrNoLeader))
	// Output:
	// node-1 true <nil>
	// true
}

// Observe yields the leaders as they come and go.
func ExampleElection_Observe() {
	ctx := context.Background()
	client := leasehold.New(memory.New())
	defer client.Close()
	e := client.Election("scheduler", leasehold.TTL(150*time.Millisecond))

	lead, err := e.Campaign(ctx, "node-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for leader, err := range e.Observe(ctx) {
		switch {
		case err != nil:
			fmt.Println(err)
		case leader.ID == "":
			fmt.Println("nobody leads")
			return
		default:
			fmt.Println(leader.ID, "leads")
			lead.Release()
		}
	}
	// Output:
	// node-1 leads
	// nobody leads
}

// The context of a lease ends with the lease, and says why.
func ExampleLease_Context() {
	client := leasehold.New(memory.New())
	defer client.Close()
	lease, err := client.Mutex("order:1001").Lock(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := lease.Context() // for all work under the lock
	fmt.Println(ctx.Err())
	lease.Release()
	fmt.Println(context.Cause(ctx))
	// Output:
	// <nil>
	// lease released
}

// With a token the resource can refuse a writer that was paused for so long that somebody else has the lock.
func ExampleLease_Token() {
	ctx := context.Background()
	engine := memory.New()
	here, there := leasehold.New(engine), leasehold.New(engine)
	defer here.Close()
	defer there.Close()
	var newest uint64 // kept by the resource
	write := func(token uint64) {
		if token < newest {
			fmt.Println("refused")
			return
		}
		newest = token
		fmt.Println("written")
	}

	paused, err := here.Mutex("order:1001").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	admin.New(engine).ForceRelease(ctx, driver.Lock, "order:1001", paused.Token()) // or its ttl has passed
	next, err := there.Mutex("order:1001").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer next.Release()

	write(next.Token())
	write(paused.Token())
	// Output:
	// written
	// refused
}

// A lease without renewal ends by itself, unless it is extended.
func ExampleLease_Extend() {
	ctx := context.Background()
	client := leasehold.New(memory.New())
	defer client.Close()
	lease, err := client.Mutex("order:1001", leasehold.TTL(5*time.Second), leasehold.NoRenew()).Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release()
	before := lease.Deadline()
	fmt.Println(lease.Extend(ctx, time.Minute))
	fmt.Println(lease.Deadline().Sub(before) > 50*time.Second)
	// Output:
	// <nil>
	// true
}

// A writer that has written lets readers in, and no other writer can come between.
func ExampleLease_Downgrade() {
	ctx := context.Background()
	client := leasehold.New(memory.New())
	defer client.Close()
	m := client.RWMutex("catalogue")
	lease, err := m.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release()
	fmt.Println(lease.Downgrade(ctx))
	reader, err := m.TryRLock(ctx)
	fmt.Println("a reader:", err)
	reader.Release()
	// Output:
	// <nil>
	// a reader: <nil>
}

// MaxHold ends a lease whose holder hangs, even if its renewals succeed.
func ExampleMaxHold() {
	client := leasehold.New(memory.New())
	defer client.Close()
	m := client.Mutex("order:1001", leasehold.MaxHold(100*time.Millisecond))
	err := m.Do(context.Background(), func(ctx context.Context, _ *leasehold.Lease) error {
		<-ctx.Done() // this would never end
		return context.Cause(ctx)
	})
	fmt.Println(err)
	// Output: lease held for the longest time allowed
}

// A program that wants the same lock again and again keeps it meanwhile, until somebody else asks for it.
func ExampleLinger() {
	ctx := context.Background()
	engine := memory.New()
	here, there := leasehold.New(engine), leasehold.New(engine)
	defer here.Close()
	defer there.Close()
	shard := here.Mutex("shard:7", leasehold.Linger(time.Second))
	for range 3 {
		lease, err := shard.Lock(ctx) // only the first asks the engine
		if err != nil {
			fmt.Println(err)
			return
		}
		lease.Release()
	}
	lease, err := there.Mutex("shard:7").TryLock(ctx) // recalls it
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("there:", lease.Err() == nil)
	lease.Release()
	// Output: there: true
}

// A release that the program need not wait for.
func ExampleLease_ReleaseLater() {
	client := leasehold.New(memory.New())
	defer client.Close() // sends what is left
	lease, err := client.Mutex("order:1001").Lock(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.ReleaseLater()
	fmt.Println("charged")
	// Output: charged
}

// grants is an observer that counts. It implements only the interface that it needs.
type grants map[string]int

func (g grants) ObserveGrant(e leasehold.Granted) { g[e.Label]++ }

// Observers are told of events. Count them by label: names are unbounded.
func ExampleWithObserver() {
	ctx := context.Background()
	counts := grants{}
	client := leasehold.New(memory.New(), leasehold.WithObserver(counts))
	defer client.Close()
	for _, name := range []string{"order:1001", "order:1002"} {
		lease, err := client.Mutex(name, leasehold.Label("order")).Lock(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		lease.Release()
	}
	fmt.Println(counts)
	// Output: map[order:2]
}

// A client logs nothing unless it has a logger. Then it logs events that no caller is told.
func ExampleWithLogger() {
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.TimeKey, "held": // differ each time
				return slog.Attr{}
			case "cause": // keeps the line short
				return slog.Attr{}
			}
			return a
		},
	}))
	engine := memory.New()
	for _, opts := range [][]leasehold.ClientOption{nil, {leasehold.WithLogger(log)}} {
		client := leasehold.New(engine, opts...)
		lease, err := client.Mutex("order:7").Lock(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		admin.New(engine).ForceRelease(ctx, driver.Lock, "order:7", lease.Token())
		lease.Extend(ctx, time.Minute) // notices that the lease is lost
		client.Close()
	}
	// Output:
	// level=WARN msg="lease lost" kind=lock name=order:7 token=2 reason="the engine says that it is not held any more"
}

// Bad input is refused before anything is sent to the engine.
func ExampleValueError() {
	client := leasehold.New(memory.New())
	defer client.Close()
	_, err := client.Mutex("order:1001", leasehold.TTL(time.Millisecond)).Lock(context.Background())

	var v *leasehold.ValueError
	if errors.As(err, &v) {
		fmt.Println(v.Field, "may be", v.Allowed)
	}
	fmt.Println(err)
	// Output:
	// TTL may be 100ms to 24h0m0s
	// leasehold: TTL 1ms is not allowed: it must be 100ms to 24h0m0s
}

// The error of a call says what was asked for, and why it failed.
func ExampleError() {
	client := leasehold.New(memory.New())
	defer client.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the machine shuts down"))
	_, err := client.Semaphore("gpu", 4).Acquire(ctx, 2)

	var e *leasehold.Error
	if errors.As(err, &e) {
		fmt.Println(e.Op, "|", e.Kind, "|", e.Name, "|", e.Err, "|", e.Cause)
	}
	// Output: acquire | semaphore | gpu | context canceled | the machine shuts down
}
