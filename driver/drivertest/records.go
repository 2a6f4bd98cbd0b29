package drivertest

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

var records = []check{
	{"RecordsAreTheSameForAll", recordsAreTheSameForAll},
	{"RecordTakesTheOldOnesPlace", recordTakesTheOldOnesPlace},
	{"RecordsOfAnyText", recordsOfAnyText},
	{"RecordsUpToALimit", recordsUpToALimit},
	{"TheLatestRecordsAreKept", theLatestRecordsAreKept},
}

// recorder opens an engine as a Recorder.
func (e *env) recorder() driver.Recorder {
	e.Helper()
	e.needs(e.can.Records, "record of removals")
	r, ok := e.open().(driver.Recorder)
	if !ok {
		e.Fatal("the engine says that it keeps a record, but is no driver.Recorder")
	}
	return r
}

// removal is one of a name of this check.
func (e *env) removal(name string, at time.Time) driver.Removal {
	return driver.Removal{
		ID:      rand.Text(),
		At:      at.UTC().Truncate(time.Microsecond),
		Key:     driver.Key{Kind: driver.Lock, Name: e.prefix + name},
		Token:   7,
		Holder:  "host-a:42 billing",
		By:      "host-b:43 leasehold",
		Why:     "it hangs",
		Outcome: driver.Asked,
	}
}

func (e *env) record(r driver.Recorder, all ...driver.Removal) {
	e.Helper()
	for _, one := range all {
		if err := r.Record(e.ctx, one); err != nil {
			e.Fatalf("Record of %+v: %v", one, err)
		}
	}
}

// recorded returns all that is recorded, and what of it is this check's: others may use the same place.
func (e *env) recorded(r driver.Recorder, limit int) (all, own []driver.Removal) {
	e.Helper()
	all, err := r.Records(e.ctx, limit)
	if err != nil {
		e.Fatalf("Records: %v", err)
	}
	for i, one := range all {
		if i > 0 && one.At.After(all[i-1].At) {
			e.Errorf("a record of %v comes behind one of %v; want the newest first", one.At, all[i-1].At)
		}
		if strings.HasPrefix(one.Name, e.prefix) {
			own = append(own, one)
		}
	}
	return all, own
}

// wantRecords compares all fields, and expects times in UTC.
func (e *env) wantRecords(got, want []driver.Removal) {
	e.Helper()
	if len(got) != len(want) {
		e.Errorf("%d records, want %d: %+v", len(got), len(want), got)
		return
	}
	for i := range want {
		at := got[i].At
		got[i].At = want[i].At
		if got[i] != want[i] || !at.Equal(want[i].At) || at.Format(time.RFC3339Nano) != want[i].At.Format(time.RFC3339Nano) {
			e.Errorf("a record is %+v of %v, want %+v", got[i], at, want[i])
		}
	}
}

func recordsAreTheSameForAll(e *env) {
	a, b := e.recorder(), e.recorder()
	now := time.Now()
	var want []driver.Removal
	for i, outcome := range []driver.Outcome{driver.Asked, driver.Removed, driver.Gone, driver.Refused} {
		r := e.removal(fmt.Sprint(i), now.Add(-time.Duration(i)*time.Microsecond))
		r.Outcome = outcome
		if i%2 == 1 {
			r.Kind, r.Token, r.Holder, r.Why = driver.Semaphore, driver.MaxToken, "", ""
		}
		want = append(want, r)
	}
	// In another order than that of their times.
	e.record(a, want[2], want[0])
	e.record(b, want[3], want[1])
	for _, r := range []driver.Recorder{a, b, e.recorder()} {
		_, own := e.recorded(r, 0)
		e.wantRecords(own, want)
	}
}

func recordTakesTheOldOnesPlace(e *env) {
	a, b := e.recorder(), e.recorder()
	now := time.Now()
	first, other := e.removal("first", now), e.removal("other", now.Add(-time.Second))
	e.record(a, first, other, other)
	first.Outcome = driver.Removed
	e.record(b, first, first)
	_, own := e.recorded(a, 0)
	e.wantRecords(own, []driver.Removal{first, other})
}

func recordsOfAnyText(e *env) {
	r := e.recorder()
	now := time.Now()
	var want []driver.Removal
	for i, text := range append(awkward, "\r\n\r\n", "\x1b[31m", "{\"a\":[1]}", strings.Repeat("ü", 512)) {
		one := e.removal(strings.ToValidUTF8(text[:min(len(text), maxName-len(e.prefix))], ""), now.Add(-time.Duration(i)*time.Microsecond))
		one.Holder, one.By, one.Why = text, text, text
		want = append(want, one)
	}
	e.record(r, want...)
	_, own := e.recorded(e.recorder(), 0)
	e.wantRecords(own, want)
}

func recordsUpToALimit(e *env) {
	r := e.recorder()
	now := time.Now()
	for i := range 5 {
		e.record(r, e.removal(fmt.Sprint(i), now.Add(time.Duration(i)*time.Microsecond)))
	}
	for _, limit := range []int{1, 3} {
		// Others may write at this moment, but not always.
		e.eventually(fmt.Sprintf("the latest %d records", limit), func() bool {
			latest, _ := e.recorded(r, limit)
			all, _ := e.recorded(r, 0)
			if len(latest) > limit {
				e.Fatalf("%d records, want at most %d", len(latest), limit)
			}
			return slices.Equal(ids(latest), ids(all[:min(limit, len(all))]))
		})
	}
}

func ids(all []driver.Removal) (list []string) {
	for _, r := range all {
		list = append(list, r.ID)
	}
	return list
}

// theLatestRecordsAreKept writes more than are kept, the old and the new in any order. They are older than those of
// other checks, which may use the same place and must not miss theirs.
func theLatestRecordsAreKept(e *env) {
	began := time.Now().Add(-time.Hour)
	var written []driver.Removal
	for i := range driver.MaxRemovals + 30 {
		written = append(written, e.removal("name", began.Add(time.Duration(i)*time.Microsecond)))
	}
	const writers = 3
	var wg sync.WaitGroup
	for i := range writers {
		r := e.recorder()
		wg.Go(func() {
			for k := range written {
				one := written[k*7%len(written)]
				if k%writers != i {
					continue
				}
				if err := r.Record(e.ctx, one); err != nil {
					e.Errorf("Record: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	r := e.recorder()
	all, own := e.recorded(r, 0)
	if more, _ := e.recorded(r, 2*driver.MaxRemovals); len(all) != driver.MaxRemovals || len(more) != driver.MaxRemovals {
		e.Fatalf("%d records are kept, and %d are shown of them; want %d", len(more), len(all), driver.MaxRemovals)
	}
	slices.Reverse(written)
	e.wantRecords(own, written[:len(own)])
	if oldest := all[len(all)-1].At; len(own) < len(written) && written[len(own)].At.After(oldest) {
		e.Errorf("the record of %v was not kept, but one of %v was", written[len(own)].At, oldest)
	}
}
