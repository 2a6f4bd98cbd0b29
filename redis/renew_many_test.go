package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// No script renews very many leases, as the server does nothing else meanwhile.
func TestRenewalsOfManyLeasesAreSeveralScripts(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, client := range standaloneClients(s) {
		e := unguarded(t, client)
		var items []driver.Renewal
		for i := range 500 {
			r := lasting(fmt.Sprint(name, i), time.Minute)
			if i%100 != 99 { // some are not held
				mustTake(t, e, r)
			}
			items = append(items, driver.Renewal{Hold: hold(r), TTL: time.Hour})
		}
		if err := renewOne(t.Context(), e, items[0].Hold, time.Minute); err != nil { // the server knows the script then
			t.Fatal(err)
		}
		before, outcomes := scriptCalls(t, s), map[int]error{}
		e.Renew(t.Context(), items, func(i int, err error) { outcomes[i] = err })
		if n := scriptCalls(t, s) - before; n != 4 {
			t.Errorf("%s: %d scripts renewed %d leases, want 4", name, n, len(items))
		}
		for i := range items {
			err, told := outcomes[i]
			if held := i%100 != 99; !told || held != (err == nil) || !held && !driver.IsNo(err) {
				t.Errorf("%s: lease %d: %v", name, i, err)
			}
		}
		if st := status(t, e, items[0].Key); len(st.Holders) != 1 || st.Holders[0].TTL < 50*time.Minute {
			t.Errorf("%s: after the renewal: %+v", name, st)
		}
	}
}
