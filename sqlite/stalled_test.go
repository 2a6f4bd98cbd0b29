package sqlite

import (
	"sync/atomic"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
)

// A disk that hangs cannot be interrupted, but the caller can leave. The clock, which each access reads, hangs here in
// place of the disk.
func TestRequestsToAFileThatHangsEnd(t *testing.T) {
	t.Parallel()
	c, err := machineClock()
	if err != nil {
		t.Fatal(err)
	}
	var stalled atomic.Bool
	over := make(chan struct{})
	now := c.now
	c.now = func() int64 {
		if stalled.Load() {
			<-over
		}
		return now()
	}
	path := newPath(t)
	drivertest.RunStalled(t,
		func(t *testing.T) driver.Engine { return openAt(t, path, c) },
		func(t *testing.T) {
			stalled.Store(true)
			t.Cleanup(func() {
				stalled.Store(false)
				close(over)
			})
		}, 0)
}
