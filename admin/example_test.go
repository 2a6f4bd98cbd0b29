package admin_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// An operator looks who holds a lock, and takes it away from a holder that hangs.
func Example() {
	ctx := context.Background()
	engine := memory.New() // the engine on which programs lock, usually on a server
	billing := leasehold.New(engine, leasehold.WithHolder("billing-3"))
	defer billing.Close()
	lease, err := billing.Mutex("order:1001").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}

	ops := admin.New(engine)
	for s, err := range ops.All(ctx, admin.Query{Prefix: "order:"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, h := range s.Holders {
			fmt.Println(s.Kind, s.Name, "is held by", h.Holder, "with token", h.Token)
			err := ops.ForceRelease(ctx, s.Kind, s.Name, h.Token, admin.WithReason("it hangs"))
			fmt.Println("taken away:", err == nil)
		}
	}
	fmt.Println("the holder has lost it:", errors.Is(lease.Release(), leasehold.ErrLost))
	// Output:
	// lock order:1001 is held by billing-3 with token 1
	// taken away: true
	// the holder has lost it: true
}

// All yields everything, and asks the engine for more as the caller goes on.
func ExampleClient_All() {
	ctx := context.Background()
	engine := memory.New()
	client := leasehold.New(engine, leasehold.WithHolder("billing-3"))
	defer client.Close()
	ops := admin.New(engine)
	leases, err := client.LockAll(ctx, "order:1001", "order:1002", "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer leases.Release()
	for s, err := range ops.All(ctx, admin.Query{Prefix: "order:"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Name, "is held by", s.Holders[0].Holder)
	}
	// Output:
	// order:1001 is held by billing-3
	// order:1002 is held by billing-3
}

// Inspect shows who holds a name and who waits for it, on any machine.
func ExampleClient_Inspect() {
	ctx := context.Background()
	engine := memory.New()
	client := leasehold.New(engine, leasehold.WithHolder("billing-3"))
	defer client.Close()
	ops := admin.New(engine)
	lease, err := client.Mutex("order:1001").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release()
	all, err := ops.Inspect(ctx, "order:1001")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range all {
		for _, h := range s.Holders {
			fmt.Println(s.Kind, s.Name, "is held by", h.Holder, "with token", h.Token)
		}
	}
	// Output: lock order:1001 is held by billing-3 with token 1
}

// An operator takes a lock away from a holder that hangs. The token makes sure that it is that holder.
func ExampleClient_ForceRelease() {
	ctx := context.Background()
	engine := memory.New()
	client := leasehold.New(engine)
	defer client.Close()
	ops := admin.New(engine)
	lease, err := client.Mutex("order:1001").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ops.ForceRelease(ctx, driver.Lock, "order:1001", lease.Token()))
	err = ops.ForceRelease(ctx, driver.Lock, "order:1001", lease.Token())
	fmt.Println("again:", errors.Is(err, leasehold.ErrLost))
	fmt.Println("the holder:", errors.Is(lease.Release(), leasehold.ErrLost))
	// Output:
	// <nil>
	// again: true
	// the holder: true
}

// An operator that takes a lock away says who they are and why. The record shows the outcome.
func ExampleClient_Removals() {
	ctx := context.Background()
	engine := memory.New()
	client := leasehold.New(engine, leasehold.WithHolder("billing-3"))
	defer client.Close()
	ops := admin.New(engine)
	lease, err := client.Mutex("order:1001").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = ops.ForceRelease(ctx, driver.Lock, "order:1001", lease.Token(),
		admin.WithOperator("ada"), admin.WithReason("its process hangs"), admin.WithHolderText("billing-3"))
	if err != nil {
		fmt.Println(err)
		return
	}
	removals, err := ops.Removals(ctx, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range removals {
		fmt.Printf("%s %s, held by %s: %s by %s, since %s\n", r.Kind, r.Name, r.Holder, r.Outcome, r.By, r.Why)
	}
	// Output: lock order:1001, held by billing-3: removed by ada, since its process hangs
}

// tampered is an engine on which another program has left a lock without an end.
type tampered struct {
	*memory.Engine
	swept bool
}

func (t *tampered) Leaks(_ context.Context, _ driver.Query, visit func(driver.Leak) bool) error {
	if !t.swept {
		visit(driver.Leak{Key: driver.Key{Kind: driver.Lock, Name: "order:1001"}, Sort: driver.EndlessLease, Count: 1})
	}
	return nil
}

func (t *tampered) Sweep(context.Context, driver.Leak) error {
	if t.swept {
		return driver.ErrNotHeld
	}
	t.swept = true
	return nil
}

// Leaks are first found, and then swept one by one.
func ExampleClient_Sweep() {
	ctx := context.Background()
	ops := admin.New(&tampered{Engine: memory.New()})
	for leak, err := range ops.Leaks(ctx, admin.Query{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(leak.Sort, "at", leak.Kind, leak.Name)
		fmt.Println("swept:", ops.Sweep(ctx, leak))
		fmt.Println("gone:", errors.Is(ops.Sweep(ctx, leak), leasehold.ErrLost))
	}
	// Output:
	// endless lease at lock order:1001
	// swept: <nil>
	// gone: true
}

// The holder text tells which process holds, unless it was set with WithHolder.
func ExampleParseHolder() {
	for _, text := range []string{"web-1:4711 billing order", "web-1:4711 billing", "node 7"} {
		p, ok := admin.ParseHolder(text)
		fmt.Printf("%v %q %d %q %q\n", ok, p.Host, p.PID, p.Program, p.Label)
	}
	// Output:
	// true "web-1" 4711 "billing" "order"
	// true "web-1" 4711 "billing" ""
	// false "" 0 "" ""
}

// Examine finds what endangers locks, and says how to fix it.
func ExampleClient_Examine() {
	ops := admin.New(memory.New()) // usually on Redis and the like: memory cannot be examined
	x, err := ops.Examine(context.Background())
	if errors.Is(err, leasehold.ErrUnsupported) {
		fmt.Println("nothing to examine")
		return
	}
	for _, f := range x.Findings {
		if f.Severity >= admin.Warning {
			fmt.Println(f.Severity, f.Server, f.Text, f.Fix)
		}
	}
	// Output: nothing to examine
}
