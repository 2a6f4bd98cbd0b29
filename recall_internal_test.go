package leasehold

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/memory"
)

// A lock that was recalled leaves nothing behind in the local queue.
func TestARecalledLockIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		here, there := New(e), New(e)
		defer here.Close()
		defer there.Close()
		m := here.Mutex("name", Linger(time.Hour))
		lease, err := m.Lock(t.Context())
		if err != nil || lease.Release() != nil {
			t.Fatal(err)
		}
		theirs, err := there.Mutex("name").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Release()
		synctest.Wait()
		if turn := here.queue.Try(m.lock.key); turn.Value.hold != nil {
			t.Error("the hold that was recalled is still parked")
		}
		if n := here.leaseCount.Load(); n != 0 {
			t.Errorf("%d leases are counted", n)
		}
	})
}
