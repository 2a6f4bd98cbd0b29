package zookeeper

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Renewals are transactions, so that a majority must agree, and one is enough for all. One lease that is gone does not concern the others.
func TestRenewalIsATransaction(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	e, other := openAt(t, s, WithSessionTimeout(longSession)), openAt(t, s, WithSessionTimeout(longSession))
	var batch []driver.Renewal
	var grants []driver.Grant
	for i := range 3 {
		r := lock(t, fmt.Sprint(i))
		grants = append(grants, mustTake(t, e, r))
		batch = append(batch, driver.Renewal{Hold: hold(r), TTL: r.TTL})
	}
	last := func() int64 {
		t.Helper()
		stat, err := other.client.set(t.Context(), other.base(driver.Lock), nil)
		if err != nil {
			t.Fatal(err)
		}
		return stat.Mzxid
	}
	renewAll := func() []error {
		var mu sync.Mutex
		outcomes := make([]error, len(batch))
		for i := range outcomes {
			outcomes[i] = errors.New("not reported")
		}
		e.Renew(t.Context(), batch, func(i int, err error) {
			mu.Lock()
			defer mu.Unlock()
			outcomes[i] = err
		})
		return outcomes
	}
	before := last()
	outcomes := renewAll()
	if n := last() - before - 1; n != 1 || errors.Join(outcomes...) != nil {
		t.Errorf("renewing made %d transactions, want 1: %v", n, outcomes)
	}
	if err := other.ForceRelease(t.Context(), batch[1].Key, grants[1].Token); err != nil {
		t.Fatal(err)
	}
	if outcomes := renewAll(); outcomes[0] != nil || !errors.Is(outcomes[1], driver.ErrNotHeld) || outcomes[2] != nil {
		t.Errorf("one was lost: %v", outcomes)
	}
	// So is another take by the same owner.
	r := lock(t, "again")
	mustTake(t, e, r)
	least := int64(math.MaxInt64)
	for range 5 { // what is left of the lock above may be removed meanwhile
		before = last()
		mustTake(t, e, r)
		least = min(least, last()-before-1)
	}
	if least != 1 {
		t.Errorf("taking again made %d transactions, want 1", least)
	}
}

// Large batches, and those of the longest names, are taken to pieces.
func TestLargeBatchIsRenewed(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	var batch []driver.Renewal
	var mu sync.Mutex
	each(mostChecked+1, func(i int) {
		r := lock(t, fmt.Sprint(i))
		if i%4 == 0 {
			r.Name += strings.Repeat("/", 1024-len(r.Name)) // three bytes each
		}
		mustTake(t, e, r)
		mu.Lock()
		defer mu.Unlock()
		batch = append(batch, driver.Renewal{Hold: hold(r), TTL: r.TTL})
	})
	outcomes := make(map[int]error)
	e.Renew(t.Context(), batch, func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		outcomes[i] = err
	})
	for i := range batch {
		if err, told := outcomes[i]; !told || err != nil {
			t.Errorf("%d: told %v, %v", i, told, err)
		}
	}
	each(len(batch), func(i int) {
		if err := e.Release(t.Context(), driver.Release{Hold: batch[i].Hold}); err != nil {
			t.Error(err)
		}
	})
	// Neither so many nor so much at once.
	short, long := &place{parent: "/a", name: "b"}, &place{parent: "/a", name: strings.Repeat("b", mostCheckedBytes/3)}
	for _, c := range []struct {
		p        *place
		n, parts int
	}{{short, 1, 1}, {short, mostChecked, 1}, {short, mostChecked + 1, 2}, {long, 2, 1}, {long, 4, 2}, {long, 5, 3}} {
		places, at := make([]*place, c.n), make([]int, c.n)
		for i := range at {
			places[i], at[i] = c.p, i
		}
		if parts := pieces(places, at); len(parts) != c.parts {
			t.Errorf("%d places make %d pieces, want %d", c.n, len(parts), c.parts)
		}
	}
}

// One whose turn it is asks whether its place is there, if it has not heard of its session for long: what it has read may be old.
func TestArrivalIsConfirmed(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, e, r)
	p, _ := e.places.find(claim{r.Key, idOf(r.Owner)})
	untouch := func() {
		e.client.mu.Lock()
		defer e.client.mu.Unlock()
		e.client.heard = driver.Instant{}
	}
	untouch()
	if g, err := e.arrive(t.Context(), p, time.Second); err != nil || g.Token != p.token {
		t.Errorf("of a place that is there: %+v, %v", g, err)
	}
	// One who wants a lease that is longer than the session is now looks anew, and is told why it cannot have that.
	if g, err := e.arrive(t.Context(), p, time.Hour); !errors.Is(err, errGone) {
		t.Errorf("for an hour: %+v, %v", g, err)
	}
	if err := other.client.remove(t.Context(), p.path()); err != nil {
		t.Fatal(err)
	}
	untouch()
	if g, err := e.arrive(t.Context(), p, time.Second); !errors.Is(err, errGone) {
		t.Errorf("of one that is not: %+v, %v", g, err)
	}
}
