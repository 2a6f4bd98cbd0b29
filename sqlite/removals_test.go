package sqlite

import (
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

func removal(name string) driver.Removal {
	return driver.Removal{
		ID:      rand.Text(),
		At:      time.Now().UTC().Truncate(time.Microsecond),
		Key:     driver.Key{Kind: driver.Lock, Name: name},
		Token:   7,
		By:      "test",
		Outcome: driver.Asked,
	}
}

func mustRecord(t *testing.T, e *Engine, r driver.Removal) {
	t.Helper()
	if err := e.Record(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// checkRecorded expects exactly these records.
func checkRecorded(t *testing.T, e *Engine, want ...driver.Removal) {
	t.Helper()
	all, err := e.Records(t.Context(), 0)
	if err != nil || len(all) != len(want) {
		t.Fatalf("on record are %+v, %v; want %+v", all, err, want)
	}
	for i := range want {
		if all[i] != want[i] {
			t.Errorf("on record is %+v, want %+v", all[i], want[i])
		}
	}
}

func TestRecordsStayInTheFile(t *testing.T) {
	t.Parallel()
	path, first := newPath(t), newManualClock("first", time.Hour)
	before, err := open(path, first.clock())
	if err != nil {
		t.Fatal(err)
	}
	r := removal("a")
	mustRecord(t, before, r)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, path, first.clock())
	checkRecorded(t, again, r)
	checkRecorded(t, openAt(t, path, newManualClock("second", time.Second).clock()), r) // the machine has restarted
}

// A file that was created before there was a record of removals gets the table, even while it is in use.
func TestFileWithoutARecord(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	old := openFile(t, path)
	mustTake(t, old, lock("a"))
	makeDatabase(t, path, "DROP TABLE removals")

	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			e, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer e.Close()
			if _, err := e.Records(t.Context(), 0); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	fresh, r := openFile(t, path), removal("a")
	mustRecord(t, fresh, r)
	checkRecorded(t, fresh, r)
	mustTake(t, old, lock("b"))
	if page, err := old.List(t.Context(), driver.Query{}); err != nil || len(page) != 2 {
		t.Errorf("one who had the file open sees %+v, %v", page, err)
	}
	if version := countRows(t, fresh, "pragma_user_version WHERE user_version = 1"); version != 1 {
		t.Error("programs of before would refuse the file")
	}
}

func TestRecordsInABusyFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e, other := openFile(t, path), openFile(t, path)
	e.busyLimit = 20 * time.Millisecond
	leave := lockFile(t, other)
	defer leave()
	if err := e.Record(t.Context(), removal("a")); !driver.HadNoEffect(err) || driver.IsPermanent(err) {
		t.Errorf("Record in a busy file: %v, want one that had no effect", err)
	}
	checkRecorded(t, e)
}
