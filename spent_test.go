package leasehold_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/memory"
)

// recorded is a memory engine that records what it is asked, and on which a test can replace Wait and Take.
type recorded struct {
	*memory.Engine
	take, wait func(context.Context, driver.Request) (driver.Grant, error) // nil: those of the memory engine

	mu       sync.Mutex
	takes    []driver.Request
	renewals []driver.Renewal
	releases []driver.Release
	broken   []string // owners that were used in a take after a release had named them
}

func (e *recorded) Abilities() driver.Abilities {
	a := e.Engine.Abilities()
	a.Local = false
	return a
}

// asked records a take, and checks the rule.
func (e *recorded) asked(r driver.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.takes = append(e.takes, r)
	for _, released := range e.releases {
		if released.Owner == r.Owner {
			e.broken = append(e.broken, r.Owner)
		}
	}
}

func (e *recorded) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	e.asked(r)
	if e.take != nil {
		take := func(ctx context.Context) (driver.Grant, error) { return e.take(ctx, r) }
		return detach.Do(ctx, nil, take, nil)
	}
	return e.Engine.Take(ctx, r)
}

func (e *recorded) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	e.asked(r)
	if e.wait != nil {
		return e.wait(ctx, r)
	}
	return e.Engine.Wait(ctx, r)
}

func (e *recorded) Renew(ctx context.Context, batch []driver.Renewal, report func(int, error)) {
	e.mu.Lock()
	e.renewals = append(e.renewals, batch...)
	e.mu.Unlock()
	e.Engine.Renew(ctx, batch, report)
}

func (e *recorded) Release(ctx context.Context, r driver.Release) error {
	e.mu.Lock()
	e.releases = append(e.releases, r)
	e.mu.Unlock()
	return e.Engine.Release(ctx, r)
}

// check fails if an owner was used in a take after a release had named it.
func (e *recorded) check(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, owner := range e.broken {
		t.Errorf("owner %q was used in a take after a release had named it", owner)
	}
}

// once returns f the first time it is called, and nil ever after.
func once[T any](f T) func() (T, bool) {
	first := true
	return func() (T, bool) {
		defer func() { first = false }()
		return f, first
	}
}

func TestSpentOwnerIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	lost := errors.New("the replicas do not have it")
	for name, err := range map[string]error{
		"in doubt":  driver.Spent(lost),
		"no effect": driver.Spent(driver.NoEffect(lost)),
		"too late":  nil, // a grant that starts too long ago, which the core releases
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := &recorded{Engine: memory.New()}
				fails := once(err)
				e.wait = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
					g, granted := e.Engine.Wait(ctx, r)
					if err, first := fails(); first && granted == nil {
						g.Start = driver.Now().Add(-r.TTL)
						return g, err
					}
					return g, granted
				}
				holder := take(t, newClient(t, e.Engine).Mutex("a", leasehold.TTL(ttl)).Lock)
				waiter := queueUp(t, newClient(t, e).Mutex("a", leasehold.TTL(ttl)).Lock)[0]
				release(t, holder)
				time.Sleep(ttl) // the call asks again
				lease := waiter.wantValue(t)
				e.check(t)
				first, last := e.takes[0], e.takes[len(e.takes)-1]
				if first.Owner == last.Owner {
					t.Error("the call has gone on with the owner that the engine had released")
				}
				if first.Place == "" || first.Place != last.Place {
					t.Errorf("the place was %q and is %q: it must stay the same", first.Place, last.Place)
				}
				// The release of the first owner, which the engine may have sent as well, arrives as late as possible.
				late := driver.Release{Hold: driver.Hold{Key: first.Key, Owner: first.Owner}, Place: first.Place}
				if err := e.Engine.Release(t.Context(), late); !errors.Is(err, driver.ErrNotHeld) {
					t.Errorf("a late release: %v", err)
				}
				time.Sleep(2 * ttl)
				noErr(t, lease.Release())
				e.check(t)
			})
		})
	}
}

// A request that was given up may go on, and release its owner at its end: the call goes on with another owner.
func TestOwnerOfARequestThatWasGivenUpIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &recorded{Engine: memory.New()}
		broken := once(errors.New("connection reset"))
		e.wait = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			if err, first := broken(); first {
				return driver.Grant{}, err
			}
			return e.Engine.Wait(ctx, r)
		}
		var takes atomic.Int32
		over := make(chan struct{})
		e.take = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			if takes.Add(1) == 2 {
				<-over
				// As an engine does that undoes what it cannot confirm.
				_ = e.Engine.Release(context.Background(),
					driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
				return driver.Grant{}, driver.Spent(errors.New("undone"))
			}
			return e.Engine.Take(ctx, r)
		}
		const long = time.Minute // longer than a request may take, so that the call survives this
		holder := take(t, newClient(t, e.Engine).Mutex("a", leasehold.TTL(long)).Lock)
		waiter := queueUp(t, newClient(t, e).Mutex("a", leasehold.TTL(long)).Lock)[0]
		time.Sleep(long / 2)
		release(t, holder)
		lease := waiter.wantValue(t)
		close(over) // the request that hung returns, and its release arrives
		synctest.Wait()
		time.Sleep(2 * long)
		noErr(t, lease.Release())
		e.check(t)
	})
}

// renamed is an engine that grants under owners of its own.
type renamed struct{ *recorded }

func (e renamed) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Owner += "-2"
	g, err := e.recorded.Take(ctx, r)
	g.Owner = r.Owner
	return g, err
}

func TestEngineNamesTheOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := renamed{&recorded{Engine: memory.New()}}
		lease := take(t, newClient(t, e).Mutex("a", leasehold.TTL(ttl)).Lock)
		time.Sleep(2 * ttl)
		noErr(t, lease.Err())
		noErr(t, lease.Release())
		owner := e.takes[0].Owner
		if len(e.renewals) == 0 || e.renewals[0].Owner != owner || len(e.releases) != 1 ||
			e.releases[0].Owner != owner {
			t.Errorf("granted to another owner than was renewed and released")
		}
	})
}
