package redisson_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// Renewals on the other masters of a Cluster do not wait for one that hangs.
func TestRenewalsDoNotWaitForASilentMaster(t *testing.T) {
	t.Parallel()
	servers := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	client := cluster(servers)(t).(*goredis.ClusterClient)
	e := open(t, func(*testing.T) goredis.UniversalClient { return client })
	silent := servers.Nodes[0]
	var batch []driver.Renewal
	answering := map[int]bool{}
	for i := range 30 {
		hold := driver.Hold{Owner: fmt.Sprint("owner", i)}
		hold.Key = driver.Key{Kind: driver.Lock, Name: fmt.Sprint("orders", i)}
		_, err := e.Take(t.Context(), driver.Request{
			Key: hold.Key, Owner: hold.Owner, Size: 1, Weight: 1, TTL: time.Hour, Tokens: 1,
		})
		must(t, err)
		batch = append(batch, driver.Renewal{Hold: hold, TTL: time.Hour})
		master, err := client.MasterForKey(t.Context(), hold.Name)
		must(t, err)
		if master.Options().Addr != silent.Addr() {
			answering[i] = true
		}
	}
	if n := len(answering); n == 0 || n == len(batch) {
		t.Fatalf("%d of %d names are on the masters that answer", n, len(batch))
	}
	must(t, silent.Pause())
	t.Cleanup(func() { must(t, silent.Resume()) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	onSilent := func(i int) bool {
		master, err := client.MasterForKey(t.Context(), batch[i].Name)
		return err == nil && master.Options().Addr == silent.Addr()
	}
	e.Renew(ctx, batch, func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if onSilent(i) && len(answering) > 0 {
			t.Errorf("renewal of %s failed before %d others were answered: %v", batch[i].Name, len(answering), err)
		}
		if answering[i] {
			if err != nil {
				t.Errorf("renewal of %s: %v", batch[i].Name, err)
			}
			if delete(answering, i); len(answering) == 0 {
				cancel()
			}
		}
	})
	if len(answering) > 0 {
		t.Errorf("%d renewals were not reported", len(answering))
	}
}

// A batch is renewed although the server has forgotten the script.
func TestRenewalsLoadTheScript(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := open(t, standalone(s))
	r := driver.Request{
		Key:   driver.Key{Kind: driver.Lock, Name: "orders"},
		Owner: "owner", Size: 1, Weight: 1, TTL: time.Minute, Tokens: 1,
	}
	_, err := e.Take(t.Context(), r)
	must(t, err)
	_, err = s.Command("SCRIPT", "FLUSH")
	must(t, err)
	held := driver.Renewal{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}, TTL: time.Hour}
	other := held
	other.Owner = "other"
	errs := make([]error, 2)
	e.Renew(t.Context(), []driver.Renewal{held, other}, func(i int, err error) { errs[i] = err })
	if errs[0] != nil || errs[1] != driver.ErrNotHeld {
		t.Errorf("renewals: %v, want nil and ErrNotHeld", errs)
	}
}
