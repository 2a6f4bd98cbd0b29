package admin_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

func TestInspectReturnsAllAboutAName(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		locker := newLocker(t, e, leasehold.WithHolder("host-a:1"))
		lease := take(t, locker.Mutex("n", leasehold.TTL(time.Minute)).Lock)
		some := take(t, permits(locker.Semaphore("n", 5), 3))
		if did, err := locker.Latch("n").TrySet(t.Context(), 7); err != nil || !did {
			t.Fatalf("TrySet returned %v, %v", did, err)
		}
		take(t, locker.Mutex("other").Lock)
		time.Sleep(5 * time.Second)
		startWaiting(t, newLocker(t, e, leasehold.WithHolder("host-b:2")).Mutex("n").Lock)
		startWaiting(t, newLocker(t, e, leasehold.WithHolder("host-c:3")).RWMutex("n").RLock)
		time.Sleep(2 * time.Second)

		c := admin.New(e)
		all, err := c.Inspect(t.Context(), "n")
		expect(t, err, nil)
		if len(all) != 3 || all[0].Kind != driver.Lock || all[1].Kind != driver.Semaphore ||
			all[2].Kind != driver.Latch {
			t.Fatalf("got %+v", all)
		}
		h := all[0].Holders[0]
		if h.Token != lease.Token() || h.Holder != "host-a:1" || h.Weight != 1 || h.Age != 7*time.Second ||
			h.TTL != 53*time.Second {
			t.Errorf("the holder is %+v", h)
		}
		if all[0].Waiting != 2 || len(all[0].Queue) != 2 {
			t.Fatalf("got %+v", all[0])
		}
		for i, want := range []admin.Waiter{
			{Holder: "host-b:2", Weight: 1, Age: 2 * time.Second},
			{Holder: "host-c:3", Weight: 1, Age: 2 * time.Second, Mode: driver.Shared},
		} {
			if all[0].Queue[i] != want {
				t.Errorf("waiter %d is %+v, want %+v", i, all[0].Queue[i], want)
			}
		}
		if h := all[1].Holders[0]; h.Token != some.Token() || h.Weight != 3 {
			t.Errorf("the holder of permits is %+v", h)
		}
		if l := all[2].Latch; l == nil || l.Count != 7 {
			t.Errorf("the latch is %+v", l)
		}
		none, err := c.Inspect(t.Context(), "free")
		if err != nil || len(none) != 0 {
			t.Errorf("of a free name there is %+v, %v", none, err)
		}
	})
}

func TestListGoesThroughAllNamesInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		locker, c := newLocker(t, e), admin.New(e)
		for i := range 25 {
			take(t, locker.Mutex(fmt.Sprintf("order:%02d", i)).Lock)
			take(t, permits(locker.Semaphore(fmt.Sprintf("room:%02d", i), 1), 1))
		}
		var seen []string
		q := admin.Query{Limit: 7}
		for {
			page, err := c.List(t.Context(), q)
			expect(t, err, nil)
			if len(page) == 0 {
				break
			}
			for _, s := range page {
				seen = append(seen, s.Name)
			}
			q.After = page[len(page)-1].Key
		}
		if len(seen) != 50 || seen[0] != "order:00" || seen[24] != "order:24" || seen[49] != "room:24" {
			t.Errorf("saw %q", seen)
		}
		some, err := c.List(t.Context(), admin.Query{Prefix: "room:1", Kind: driver.Semaphore})
		if err != nil || len(some) != 10 {
			t.Errorf("%d with the prefix, %v", len(some), err)
		}
	})
}
