package leasehold

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// A release that is due while the client is being closed is left to Close.
func TestALaterReleaseThatIsDueDuringClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		c := New(e)
		lease, err := c.Mutex("name").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lease.ReleaseLater()
		c.schedule.Stop()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if left, err := e.List(t.Context(), driver.Query{}); err != nil || len(left) > 0 {
			t.Errorf("the engine still has %+v, %v", left, err)
		}
	})
}
