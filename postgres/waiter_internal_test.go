package postgres

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// One whom nobody tells must come by every 3 s to keep its place, also while nothing is granted.
func TestPollingKeepsThePlaceWhileClosed(t *testing.T) {
	t.Parallel()
	w := &waiter{wake: make(chan struct{}, 1)}
	for _, no := range []answer{{opens: time.Minute}, {opens: time.Minute, ahead: 30}, {ahead: 30}} {
		w.refused(driver.Now(), no, true)
		if d := w.pause(); d > 2*time.Second {
			t.Errorf("after %+v it comes by in %v", no, d)
		}
	}
	w.refused(driver.Now(), answer{opens: 5 * time.Second}, false)
	if d := w.pause(); d < 4*time.Second {
		t.Errorf("one who is told looks after %v", d)
	}
}
