package leasehold

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

type dangerCounter int

func (n *dangerCounter) ObserveDanger(InDanger) { *n++ }

// A lease that is found dropped and in danger at the same moment is logged and observed.
func TestALeaseThatIsDroppedAndInDanger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			log    bytes.Buffer
			danger dangerCounter
		)
		c := New(memory.New(), WithLogger(slog.New(slog.NewTextHandler(&log, nil))), WithObserver(&danger))
		defer c.Close()
		lease, err := c.Mutex("name", NoRenew()).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(DefaultTTL * 3 / 4)
		h := lease.hold
		h.mu.Lock()
		h.unanswered = 1
		h.droppedLeases.Store(1)
		_, _, rest := h.handleDueLocked(driver.Now())
		h.mu.Unlock()
		rest.run()
		if danger != 1 {
			t.Errorf("danger was observed %d times", danger)
		}
		if !strings.Contains(log.String(), "dropped without Release") {
			t.Errorf("the log says %q", log.String())
		}
	})
}
