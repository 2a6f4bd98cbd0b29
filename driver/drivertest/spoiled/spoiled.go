// Package spoiled tries what engines do with a name into whose place somebody else has written. A neighbour in the same Redis, database, cluster or file may write
// anything there. It may keep everybody from the lock. It must not crash a program, keep one waiting for longer than it has time, give a grant that is none, or hide other names.
//
// It is for fuzz targets: they choose what is written, and package spoiled does everything that a program and an operator may do.
package spoiled

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// State is what a name is in when the neighbour comes.
type State uint8

const (
	// Free is a name that nobody has touched.
	Free State = iota
	// Exclusive is one that A holds exclusively, and for which B waits.
	Exclusive
	// Shared is one that A holds with others; or exclusively, on an engine without that.
	Shared
	// Permits is one of which A holds permits.
	Permits
	// Latch is a latch that A has set.
	Latch
	states
)

// StateOf makes a state of any number.
func StateOf(n uint8) State { return State(n) % states }

// Trial is one name that is spoiled.
type Trial struct {
	// A and B are engines on the same place, as two programs have them.
	A, B driver.Engine
	// Name is what is spoiled, and Good a name that is not: A holds it, and it must be listed.
	Name, Good string
	// State is what Name is in when Spoil is called.
	State State
	// Spoil writes into the place of the name. owner is the one of A, or empty if A does not hold.
	Spoil func(owner string)
	// Prefix makes owners unique.
	Prefix string

	owners int
}

const (
	// most is the time that each call has. It is never used up by an engine that is well.
	most = time.Minute
	// overdue is after how long a call counts as one that does not return.
	overdue = 3 * time.Minute
	ttl     = 30 * time.Second
)

// Run does everything with the name. It leaves nothing held, as far as the engine lets go of it.
func Run(t testing.TB, r Trial) {
	t.Helper()
	good, err := r.take(t, r.A, driver.Request{Key: driver.Key{Kind: driver.Lock, Name: r.Good}})
	if err != nil {
		t.Fatalf("the name that nobody spoils cannot be taken: %v", err)
	}
	defer r.release(t, r.A, good)
	mine, held := r.prepare(t)
	owner := ""
	if held {
		owner = mine.Owner
	}
	r.Spoil(owner)
	r.look(t)
	r.contend(t, mine, held)
	r.others(t)
	r.latches(t)
	r.look(t)
	r.operate(t)
	if mine.Owner != "" {
		r.release(t, r.A, mine)
	}
}

// request makes a request complete.
func (r *Trial) request(q driver.Request) driver.Request {
	r.owners++
	q.Owner = fmt.Sprintf("%sowner%d", r.Prefix, r.owners)
	q.Size, q.Weight = max(q.Size, 1), max(q.Weight, 1)
	q.TTL, q.Tokens, q.Holder = r.ttl(), 1, "the trial"
	return q
}

// ttl is as long as the engine gives leases, and not for ever.
func (r *Trial) ttl() time.Duration {
	if most := r.A.Abilities().MaxTTL; most > 0 {
		return min(most, ttl)
	}
	return ttl
}

// take asks once, and judges a grant.
func (r *Trial) take(t testing.TB, e driver.Engine, q driver.Request) (driver.Request, error) {
	t.Helper()
	q = r.request(q)
	var g driver.Grant
	var err error
	r.call(t, "Take", func(ctx context.Context) { g, err = e.Take(ctx, q) })
	if err == nil {
		judge(t, q, g)
	}
	if g.Owner != "" {
		q.Owner = g.Owner
	}
	return q, err
}

// judge fails the test if a grant is none.
func judge(t testing.TB, q driver.Request, g driver.Grant) {
	t.Helper()
	if g.Token < 1 || g.Token > driver.MaxToken || g.Tokens < 0 || g.Tokens > q.Tokens || g.TTL < 0 {
		t.Fatalf("a grant of the %s %q that is none: %+v", q.Kind, q.Name, g)
	}
}

// call bounds a call. One that is still not back has hung.
func (r *Trial) call(t testing.TB, what string, f func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	late := time.AfterFunc(overdue, func() { panic(what + " does not return, although its context has ended") })
	defer late.Stop()
	f(ctx)
	if ctx.Err() != nil {
		t.Fatalf("%s has used up all of its time", what)
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
		if l, ok := r.A.(driver.Latcher); ok && can.Latches {
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

// contend has B ask for what A may hold, and looks whether both are told that they hold.
func (r *Trial) contend(t testing.TB, mine driver.Request, held bool) {
	t.Helper()
	key := driver.Key{Kind: driver.Lock, Name: r.Name}
	if held {
		key = mine.Key
	}
	q := driver.Request{Key: key}
	if key.Kind == driver.Semaphore {
		q.Size, q.Weight = 5, 5 // nobody fits beside it
	}
	theirs, err := r.take(t, r.B, q)
	if held {
		r.again(t, mine)
		other := r.renew(t, r.A, mine)
		if err == nil && other == nil && r.renew(t, r.B, theirs) == nil && r.renew(t, r.A, mine) == nil {
			t.Fatalf("both hold the %s %q", key.Kind, key.Name)
		}
		r.release(t, r.A, mine)
	}
	r.release(t, r.B, theirs)
}

// again asks for what the owner has been granted before.
func (r *Trial) again(t testing.TB, q driver.Request) {
	t.Helper()
	r.call(t, "Take by the holder", func(ctx context.Context) {
		if g, err := r.A.Take(ctx, q); err == nil {
			judge(t, q, g)
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

// others asks for the name in all other ways.
func (r *Trial) others(t testing.TB) {
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
		if d, ok := r.B.(driver.Downgrader); err == nil && ok && can.Shared && q.Kind == driver.Lock {
			r.call(t, "Downgrade", func(ctx context.Context) { _ = d.Downgrade(ctx, holdOf(q)) })
		}
		_ = r.renew(t, r.B, q)
		r.release(t, r.B, q)
	}
	if all, ok := r.B.(driver.AllTaker); ok && can.All {
		batch := []driver.Request{r.request(driver.Request{Key: lock}), r.request(driver.Request{Key: driver.Key{Kind: driver.Lock, Name: r.Name + "~"}})}
		var grants []driver.Grant
		var err error
		r.call(t, "TakeAll", func(ctx context.Context) { grants, err = all.TakeAll(ctx, batch) })
		for i, q := range batch {
			if err == nil {
				judge(t, q, grants[i])
			}
			r.release(t, r.B, q)
		}
	}
}

// latches uses a latch of the name.
func (r *Trial) latches(t testing.TB) {
	t.Helper()
	l, ok := r.B.(driver.Latcher)
	if !ok || !r.B.Abilities().Latches {
		return
	}
	r.call(t, "LatchState", func(ctx context.Context) { r.judgeLatch(t)(l.LatchState(ctx, r.Name)) })
	r.call(t, "CountDown", func(ctx context.Context) {
		r.judgeLatch(t)(l.CountDown(ctx, driver.LatchDown{Name: r.Name, ID: r.Prefix + "down", TTL: ttl}))
	})
	r.call(t, "TrySet", func(ctx context.Context) {
		_, _ = l.TrySet(ctx, driver.LatchSet{Name: r.Name, ID: r.Prefix + "set", Count: 1, TTL: ttl})
	})
}

func (r *Trial) judgeLatch(t testing.TB) func(driver.LatchState, error) {
	return func(st driver.LatchState, err error) {
		t.Helper()
		if err == nil && (st.Count < 0 || st.TTL < 0 && st.TTL != driver.NoTTL) {
			t.Fatalf("a latch that is none: %+v", st)
		}
	}
}

// look lists everything. What is broken must not hide what is not.
func (r *Trial) look(t testing.TB) {
	t.Helper()
	good := false
	see := func(all []driver.Status) {
		for _, st := range all {
			r.judgeStatus(t, st)
			good = good || st.Kind == driver.Lock && st.Name == r.Good && len(st.Holders) == 1
		}
	}
	r.call(t, "List", func(ctx context.Context) {
		page, err := r.B.List(ctx, driver.Query{Queue: true})
		if see(page); err != nil || !good {
			t.Fatalf("List does not tell of the name that is well, only of %+v: %v", page, err)
		}
	})
	r.call(t, "List of one name", func(ctx context.Context) {
		page, _ := r.B.List(ctx, driver.Query{Name: r.Name, Queue: true})
		see(page)
	})
	if w, ok := r.B.(driver.Walker); ok && r.B.Abilities().Walk {
		good = false
		r.call(t, "Walk", func(ctx context.Context) {
			err := w.Walk(ctx, driver.Query{}, func(piece []driver.Status) bool { see(piece); return true })
			if err != nil || !good {
				t.Fatalf("Walk does not tell of the name that is well: %v", err)
			}
		})
	}
}

func (r *Trial) judgeStatus(t testing.TB, st driver.Status) {
	t.Helper()
	for _, h := range st.Holders {
		if h.Token > driver.MaxToken || h.TTL < 0 && h.TTL != driver.NoTTL {
			t.Fatalf("a holder of the %s %q that is none: %+v", st.Kind, st.Name, h)
		}
	}
	if st.Waiting < 0 || len(st.Queue) > st.Waiting {
		t.Fatalf("%d wait for the %s %q, of whom %d are told", st.Waiting, st.Kind, st.Name, len(st.Queue))
	}
	if st.Latch != nil {
		r.judgeLatch(t)(*st.Latch, nil)
	}
}

// operate does what an operator does: sweep, release by force, and examine.
func (r *Trial) operate(t testing.TB) {
	t.Helper()
	can := r.B.Abilities()
	if s, ok := r.B.(driver.Sweeper); ok && can.Leaks {
		var leaks []driver.Leak
		r.call(t, "Leaks", func(ctx context.Context) {
			err := s.Leaks(ctx, driver.Query{}, func(l driver.Leak) bool { leaks = append(leaks, l); return len(leaks) < 100 })
			if err != nil {
				t.Fatalf("Leaks stops at what is broken: %v", err)
			}
		})
		for _, l := range leaks {
			r.call(t, "Sweep", func(ctx context.Context) { _ = s.Sweep(ctx, l) })
		}
	}
	if f, ok := r.B.(driver.Forcer); ok && can.Force {
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
				r.call(t, "ForceRelease", func(ctx context.Context) { _ = f.ForceRelease(ctx, k, token) })
			}
		}
	}
	if x, ok := r.B.(driver.Examiner); ok && can.Examine {
		r.call(t, "Examine", func(ctx context.Context) {
			found, err := x.Examine(ctx)
			if err != nil {
				t.Fatalf("Examine tells of nothing at all: %v", err)
			}
			for _, f := range found.Findings {
				if f.Code == "" || f.Text == "" || f.Mend == "" || f.Severity.String() == "" {
					t.Fatalf("a finding without words: %+v", f)
				}
			}
		})
	}
	if x, ok := r.B.(driver.Recorder); ok && can.Records {
		r.call(t, "Records", func(ctx context.Context) { _, _ = x.Records(ctx, 10) })
	}
}
