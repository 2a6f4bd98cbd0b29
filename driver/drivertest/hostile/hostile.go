// Package hostile tests an engine with a hostile neighbour: another program in the same Redis, database, cluster or
// file overwrites the stored data of a name. The neighbour may keep everybody from getting the lock. What it writes
// must not crash a program, make a call run longer than its time limit, cause an invalid grant, or hide other names.
//
// The package is for fuzz targets: they choose what is written, and the package does everything that programs and
// operators may do with the name.
package hostile

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// State is the state of a name when the neighbour writes.
type State uint8

const (
	// Free is a name that nobody has touched.
	Free State = iota
	// Exclusive is a name that A holds exclusively, and for which B waits.
	Exclusive
	// Shared is a name that A holds in shared mode; or exclusively, on an engine without that mode.
	Shared
	// Permits is a semaphore of which A holds permits.
	Permits
	// Latch is a latch that A has set.
	Latch
	states
)

// StateOf maps any number to a state.
func StateOf(n uint8) State { return State(n) % states }

// Trial is a test of one name that is overwritten.
type Trial struct {
	// A and B are engines over the same locks, as two programs have them.
	A, B driver.Engine
	// Name is the name that is overwritten, and Good one that is not: A holds Good, and it must be
	// listed.
	Name, Good string
	// State is what Name is in when Overwrite is called.
	State State
	// Overwrite overwrites the stored data of the name. owner is the owner by which A holds, or empty
	// if A does not hold.
	Overwrite func(owner string)
	// Prefix makes owners unique.
	Prefix string

	owners int
}

const (
	// callLimit is the time limit of each call. A healthy engine never uses it up.
	callLimit = time.Minute
	// overdue is when a call counts as hanging.
	overdue = 3 * time.Minute
	ttl     = 30 * time.Second
)

// Run does everything with the name. It leaves nothing held that the engine lets it release.
func Run(t testing.TB, r Trial) {
	t.Helper()
	good, err := r.take(t, r.A, driver.Request{Key: driver.Key{Kind: driver.Lock, Name: r.Good}})
	if err != nil {
		t.Fatalf("the name that nobody overwrites cannot be taken: %v", err)
	}
	defer r.release(t, r.A, good)
	mine, held := r.prepare(t)
	owner := ""
	if held {
		owner = mine.Owner
	}
	r.Overwrite(owner)
	r.list(t)
	r.contend(t, mine, held)
	r.takeOtherWays(t)
	r.latches(t)
	r.list(t)
	r.operate(t)
	if mine.Owner != "" {
		r.release(t, r.A, mine)
	}
}

// request fills in the other fields of a request.
func (r *Trial) request(q driver.Request) driver.Request {
	r.owners++
	q.Owner = fmt.Sprintf("%sowner%d", r.Prefix, r.owners)
	q.Size, q.Weight = max(q.Size, 1), max(q.Weight, 1)
	q.TTL, q.Tokens, q.Holder = r.ttl(), 1, "the trial"
	return q
}

// ttl is the longest lease of the engine, but at most 30 seconds.
func (r *Trial) ttl() time.Duration {
	if limit := r.A.Abilities().MaxTTL; limit > 0 {
		return min(limit, ttl)
	}
	return ttl
}

// take asks once, and checks a grant.
func (r *Trial) take(t testing.TB, e driver.Engine, q driver.Request) (driver.Request, error) {
	t.Helper()
	q = r.request(q)
	var g driver.Grant
	var err error
	r.call(t, "Take", func(ctx context.Context) { g, err = e.Take(ctx, q) })
	if err == nil {
		checkGrant(t, q, g)
	}
	if g.Owner != "" {
		q.Owner = g.Owner
	}
	return q, err
}

// checkGrant fails the test if the grant is invalid.
func checkGrant(t testing.TB, q driver.Request, g driver.Grant) {
	t.Helper()
	if g.Token < 1 || g.Token > driver.MaxToken || g.Tokens < 0 || g.Tokens > q.Tokens || g.TTL < 0 {
		t.Fatalf("an invalid grant of the %s %q: %+v", q.Kind, q.Name, g)
	}
}

// call limits the time of a call. A call that ignores the limit hangs.
func (r *Trial) call(t testing.TB, what string, f func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	late := time.AfterFunc(overdue, func() { panic(what + " does not return, although its context has ended") })
	defer late.Stop()
	f(ctx)
	if ctx.Err() != nil {
		t.Fatalf("%s has used up its time limit", what)
	}
}

// prepare brings the name into its state.
func (r *Trial) prepare(t testing.TB) (mine driver.Request, held bool) {
	t.Helper()
	q := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: r.Name}}
	switch can := r.A.Abilities(); {
	case r.State == Free:
		return mine, false
	case r.State == Latch:
		if l, ok := r.A.(driver.Latcher); ok {
			r.call(t, "TrySet", func(ctx context.Context) {
				_, _ = l.TrySet(ctx, driver.LatchSet{Name: r.Name, ID: r.Prefix + "latch", Count: 3, TTL: ttl})
			})
		}
		return mine, false
	case r.State == Permits && can.Semaphores:
		q.Kind, q.Size, q.Weight = driver.Semaphore, 5, 2
	case r.State == Shared && can.Shared:
		q.Mode = driver.Shared
	}
	mine, err := r.take(t, r.A, q)
	if err != nil {
		t.Fatalf("a free name cannot be taken: %v", err)
	}
	if r.State == Exclusive {
		q.Join = true
		waiter, _ := r.take(t, r.B, q)
		t.Cleanup(func() { r.release(t, r.B, waiter) })
	}
	return mine, true
}

// contend lets B ask for what A may hold, and checks that they do not both hold it.
func (r *Trial) contend(t testing.TB, mine driver.Request, held bool) {
	t.Helper()
	key := driver.Key{Kind: driver.Lock, Name: r.Name}
	if held {
		key = mine.Key
	}
	q := driver.Request{Key: key}
	if key.Kind == driver.Semaphore {
		q.Size, q.Weight = 5, 5 // leaves no room for another holder
	}
	theirs, err := r.take(t, r.B, q)
	if held {
		r.takeAgain(t, mine)
		other := r.renew(t, r.A, mine)
		if err == nil && other == nil && r.renew(t, r.B, theirs) == nil && r.renew(t, r.A, mine) == nil {
			t.Fatalf("both hold the %s %q", key.Kind, key.Name)
		}
		r.release(t, r.A, mine)
	}
	r.release(t, r.B, theirs)
}

// takeAgain repeats a take that was granted before.
func (r *Trial) takeAgain(t testing.TB, q driver.Request) {
	t.Helper()
	r.call(t, "Take by the holder", func(ctx context.Context) {
		if g, err := r.A.Take(ctx, q); err == nil {
			checkGrant(t, q, g)
		}
	})
}

func (r *Trial) renew(t testing.TB, e driver.Engine, q driver.Request) error {
	t.Helper()
	err := errors.New("not reported")
	r.call(t, "Renew", func(ctx context.Context) {
		e.Renew(ctx, []driver.Renewal{{Hold: holdOf(q), TTL: r.ttl()}}, func(_ int, outcome error) { err = outcome })
	})
	return err
}

func (r *Trial) release(t testing.TB, e driver.Engine, q driver.Request) {
	t.Helper()
	r.call(t, "Release", func(ctx context.Context) { _ = e.Release(ctx, driver.Release{Hold: holdOf(q)}) })
}

func holdOf(q driver.Request) driver.Hold {
	return driver.Hold{Key: q.Key, Owner: q.Owner, Mode: q.Mode}
}

// takeOtherWays asks for the name in all other ways.
func (r *Trial) takeOtherWays(t testing.TB) {
	t.Helper()
	can := r.B.Abilities()
	lock := driver.Key{Kind: driver.Lock, Name: r.Name}
	asks := []driver.Request{{Key: lock, Join: true}}
	if can.Shared {
		asks = append(asks, driver.Request{Key: lock, Mode: driver.Shared})
	}
	if can.Semaphores {
		asks = append(asks, driver.Request{Key: driver.Key{Kind: driver.Semaphore, Name: r.Name}, Size: 5, Join: true})
	}
	for _, q := range asks {
		q, err := r.take(t, r.B, q)
		if err == nil && can.Shared && q.Kind == driver.Lock {
			r.call(t, "Downgrade", func(ctx context.Context) { _ = r.B.Downgrade(ctx, holdOf(q)) })
		}
		_ = r.renew(t, r.B, q)
		r.release(t, r.B, q)
	}
	if all, ok := r.B.(driver.AllTaker); ok {
		batch := []driver.Request{r.request(driver.Request{Key: lock}),
			r.request(driver.Request{Key: driver.Key{Kind: driver.Lock, Name: r.Name + "~"}})}
		var grants []driver.Grant
		var err error
		r.call(t, "TakeAll", func(ctx context.Context) { grants, err = all.TakeAll(ctx, batch) })
		for i, q := range batch {
			if err == nil {
				checkGrant(t, q, grants[i])
			}
			r.release(t, r.B, q)
		}
	}
}

// latches uses a latch of the name.
func (r *Trial) latches(t testing.TB) {
	t.Helper()
	l, ok := r.B.(driver.Latcher)
	if !ok {
		return
	}
	r.call(t, "LatchState", func(ctx context.Context) { r.latchChecker(t)(l.LatchState(ctx, r.Name)) })
	r.call(t, "CountDown", func(ctx context.Context) {
		r.latchChecker(t)(l.CountDown(ctx, driver.LatchDown{Name: r.Name, ID: r.Prefix + "down", TTL: ttl}))
	})
	r.call(t, "TrySet", func(ctx context.Context) {
		_, _ = l.TrySet(ctx, driver.LatchSet{Name: r.Name, ID: r.Prefix + "set", Count: 1, TTL: ttl})
	})
}

func (r *Trial) latchChecker(t testing.TB) func(driver.LatchState, error) {
	return func(st driver.LatchState, err error) {
		t.Helper()
		if err == nil && (st.Count < 0 || st.TTL < 0 && st.TTL != driver.NoTTL) {
			t.Fatalf("an invalid latch: %+v", st)
		}
	}
}

// list lists everything. A broken name must not hide a good one.
func (r *Trial) list(t testing.TB) {
	t.Helper()
	good := false
	see := func(all []driver.Status) {
		for _, st := range all {
			r.checkStatus(t, st)
			good = good || st.Kind == driver.Lock && st.Name == r.Good && len(st.Holders) == 1
		}
	}
	r.call(t, "List", func(ctx context.Context) {
		page, err := r.B.List(ctx, driver.Query{Queue: true})
		if see(page); err != nil || !good {
			t.Fatalf("List does not report the good name, only %+v: %v", page, err)
		}
	})
	r.call(t, "List of one name", func(ctx context.Context) {
		page, _ := r.B.List(ctx, driver.Query{Name: r.Name, Queue: true})
		see(page)
	})
	if o := driver.OperatorOf(r.B); r.B.Abilities().Walk {
		good = false
		r.call(t, "Walk", func(ctx context.Context) {
			err := o.Walk(ctx, driver.Query{}, func(piece []driver.Status) bool { see(piece); return true })
			if err != nil || !good {
				t.Fatalf("Walk does not report the good name: %v", err)
			}
		})
	}
}

func (r *Trial) checkStatus(t testing.TB, st driver.Status) {
	t.Helper()
	for _, h := range st.Holders {
		if h.Token > driver.MaxToken || h.TTL < 0 && h.TTL != driver.NoTTL {
			t.Fatalf("an invalid holder of the %s %q: %+v", st.Kind, st.Name, h)
		}
	}
	if st.Waiting < 0 || len(st.Queue) > st.Waiting {
		t.Fatalf("%d wait for the %s %q, and %d are listed", st.Waiting, st.Kind, st.Name, len(st.Queue))
	}
	if st.Latch != nil {
		r.latchChecker(t)(*st.Latch, nil)
	}
}

// operate does what an operator does: sweep leaks, release by force, and examine.
func (r *Trial) operate(t testing.TB) {
	t.Helper()
	o := driver.OperatorOf(r.B)
	var leaks []driver.Leak
	r.call(t, "Leaks", func(ctx context.Context) {
		err := o.Leaks(ctx, driver.Query{},
			func(l driver.Leak) bool { leaks = append(leaks, l); return len(leaks) < 100 })
		if err != nil && !errors.Is(err, driver.ErrUnsupported) {
			t.Fatalf("Leaks stops at the broken name: %v", err)
		}
	})
	for _, l := range leaks {
		r.call(t, "Sweep", func(ctx context.Context) { _ = o.Sweep(ctx, l) })
	}
	for _, kind := range []driver.Kind{driver.Lock, driver.Semaphore} {
		k := driver.Key{Kind: kind, Name: r.Name}
		tokens := []uint64{0}
		r.call(t, "List of one name", func(ctx context.Context) {
			page, _ := r.B.List(ctx, driver.Query{Kind: k.Kind, Name: k.Name})
			for _, st := range page {
				for _, h := range st.Holders[:min(len(st.Holders), 10)] {
					tokens = append(tokens, h.Token)
				}
			}
		})
		for _, token := range tokens {
			r.call(t, "ForceRelease", func(ctx context.Context) { _ = o.ForceRelease(ctx, k, token) })
		}
	}
	r.call(t, "Examine", func(ctx context.Context) {
		found, err := o.Examine(ctx)
		if err != nil && !errors.Is(err, driver.ErrUnsupported) {
			t.Fatalf("Examine reports nothing at all: %v", err)
		}
		for _, f := range found.Findings {
			if f.Code == "" || f.Text == "" || f.Fix == "" || f.Severity.String() == "" {
				t.Fatalf("an incomplete finding: %+v", f)
			}
		}
	})
	r.call(t, "Records", func(ctx context.Context) { _, _ = o.Records(ctx, 10) })
}
