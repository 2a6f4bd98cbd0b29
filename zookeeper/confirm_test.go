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

// Renewals are transactions, so that a majority must agree, and one serves all leases. One lease that is gone does not
// affect the others.
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
		stat, err := other.client.set(t.Context(), other.kindNode(driver.Lock), nil)
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
	for range 5 { // the node of the lock above may be removed meanwhile
		before = last()
		mustTake(t, e, r)
		least = min(least, last()-before-1)
	}
	if least != 1 {
		t.Errorf("taking again made %d transactions, want 1", least)
	}
}

// Large batches, and those of the longest names, are split.
func TestLargeBatchIsRenewed(t *testing.T) {
	t.Parallel()
	e := openAt(t, server(t))
	var batch []driver.Renewal
	var mu sync.Mutex
	forEach(maxChecked+1, func(i int) {
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
	forEach(len(batch), func(i int) {
		if err := e.Release(t.Context(), driver.Release{Hold: batch[i].Hold}); err != nil {
			t.Error(err)
		}
	})
	// Neither too many nor too large.
	short := &ownedNode{parent: "/a", name: "b"}
	long := &ownedNode{parent: "/a", name: strings.Repeat("b", maxCheckedBytes/3)}
	for _, c := range []struct {
		p        *ownedNode
		n, parts int
	}{{short, 1, 1}, {short, maxChecked, 1}, {short, maxChecked + 1, 2}, {long, 2, 1}, {long, 4, 2}, {long, 5, 3}} {
		entries, at := make([]*ownedNode, c.n), make([]int, c.n)
		for i := range at {
			entries[i], at[i] = c.p, i
		}
		if parts := splitForTransactions(entries, at); len(parts) != c.parts {
			t.Errorf("%d entries make %d parts, want %d", c.n, len(parts), c.parts)
		}
	}
}

// A waiter whose turn it is has its node confirmed, if the session is not certain: what it has read may be old.
func TestGrantIsConfirmed(t *testing.T) {
	t.Parallel()
	e, other := openAt(t, server(t)), openAt(t, server(t))
	r := lock(t, "a")
	mustTake(t, e, r)
	node, _ := e.owned.find(ownerKey{r.Key, ownerID(r.Owner)})
	untouch := func() {
		e.client.mu.Lock()
		defer e.client.mu.Unlock()
		e.client.certainFrom = driver.Instant{}
	}
	untouch()
	if g, err := e.holdConfirmed(t.Context(), node, time.Second); err != nil || g.Token != node.token {
		t.Errorf("of an entry that is there: %+v, %v", g, err)
	}
	// A waiter for a lease that the session does not allow reads the queue again, and gets the reason.
	if g, err := e.holdConfirmed(t.Context(), node, time.Hour); !errors.Is(err, errGone) {
		t.Errorf("for an hour: %+v, %v", g, err)
	}
	if err := other.client.remove(t.Context(), node.path()); err != nil {
		t.Fatal(err)
	}
	untouch()
	if g, err := e.holdConfirmed(t.Context(), node, time.Second); !errors.Is(err, errGone) {
		t.Errorf("of one that is not: %+v, %v", g, err)
	}
}
