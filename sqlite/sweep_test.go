package sqlite

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// TestNothingAccumulates leaves behind everything that can be left behind, many times.
func TestNothingAccumulates(t *testing.T) {
	t.Parallel()
	path, manual := newPath(t), newManualClock("boot", time.Hour)
	e := openAt(t, path, manual.clock())
	const rounds = 3000
	for i := range rounds {
		name := fmt.Sprint("name-", i)
		mustTake(t, e, lock(name))
		join(t, e, lock(name))
		if i%100 == 0 { // flushing is slow
			leaveLatch(t, e, name)
		}
		manual.advance(time.Second)
	}
	manual.advance(time.Minute)
	for i := range 2 * sweepEvery {
		r := lock(fmt.Sprint("after-", i))
		mustTake(t, e, r)
		mustRelease(t, e, r)
	}
	for _, table := range []string{"holders", "waiters", "latches", "latch_downs"} {
		if n := countRows(t, e, table); n != 0 {
			t.Errorf("%s has %d rows, want none", table, n)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(1 << 20); info.Size() > limit {
		t.Errorf("the file has %d bytes after %d names, want at most %d", info.Size(), rounds, limit)
	}
}

func leaveLatch(t *testing.T, e *Engine, name string) {
	t.Helper()
	if _, err := e.TrySet(t.Context(), driver.LatchSet{Name: name, ID: "set", Count: 3, TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		if _, err := e.CountDown(t.Context(), driver.LatchDown{Name: name, ID: id, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
}
