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

// recorder opens an engine that keeps a record.
func (e *env) recorder() driver.Operator {
	e.Helper()
	return e.operator("record of removals", func(o driver.Operator) error {
		_, err := o.Records(e.ctx, 1)
		return err
	})
}

// newRemoval returns a removal of a name of this check.
func (e *env) newRemoval(name string, at time.Time) driver.Removal {
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

func (e *env) mustRecord(r driver.Operator, all ...driver.Removal) {
	e.Helper()
	for _, one := range all {
		if err := r.Record(e.ctx, one); err != nil {
			e.Fatalf("Record of %+v: %v", one, err)
		}
	}
}

// readRecords returns all records, and those of this check: others may use the same server.
func (e *env) readRecords(r driver.Operator, limit int) (all, own []driver.Removal) {
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

// checkRecords compares all fields, and expects times in UTC.
func (e *env) checkRecords(got, want []driver.Removal) {
	e.Helper()
	if len(got) != len(want) {
		e.Errorf("%d records, want %d: %+v", len(got), len(want), got)
		return
	}
	for i := range want {
		at := got[i].At
		got[i].At = want[i].At
		if got[i] != want[i] || !at.Equal(want[i].At) ||
			at.Format(time.RFC3339Nano) != want[i].At.Format(time.RFC3339Nano) {
			e.Errorf("a record is %+v of %v, want %+v", got[i], at, want[i])
		}
	}
}

func recordsAreTheSameForAll(e *env) {
	a, b := e.recorder(), e.recorder()
	now := time.Now()
	var want []driver.Removal
	for i, outcome := range []driver.Outcome{driver.Asked, driver.Removed, driver.Gone, driver.Refused} {
		r := e.newRemoval(fmt.Sprint(i), now.Add(-time.Duration(i)*time.Microsecond))
		r.Outcome = outcome
		if i%2 == 1 {
			r.Kind, r.Token, r.Holder, r.Why = driver.Semaphore, driver.MaxToken, "", ""
		}
		want = append(want, r)
	}
	// The order differs from that of their times.
	e.mustRecord(a, want[2], want[0])
	e.mustRecord(b, want[3], want[1])
	for _, r := range []driver.Operator{a, b, e.recorder()} {
		_, own := e.readRecords(r, 0)
		e.checkRecords(own, want)
	}
}

func recordTakesTheOldOnesPlace(e *env) {
	a, b := e.recorder(), e.recorder()
	now := time.Now()
	first, other := e.newRemoval("first", now), e.newRemoval("other", now.Add(-time.Second))
	e.mustRecord(a, first, other, other)
	first.Outcome = driver.Removed
	e.mustRecord(b, first, first)
	_, own := e.readRecords(a, 0)
	e.checkRecords(own, []driver.Removal{first, other})
}

func recordsOfAnyText(e *env) {
	r := e.recorder()
	now := time.Now()
	var want []driver.Removal
	for i, text := range append(awkward, "\r\n\r\n", "\x1b[31m", "{\"a\":[1]}", strings.Repeat("ü", 512)) {
		one := e.newRemoval(strings.ToValidUTF8(text[:min(len(text), maxName-len(e.prefix))], ""),
			now.Add(-time.Duration(i)*time.Microsecond))
		one.Holder, one.By, one.Why = text, text, text
		want = append(want, one)
	}
	e.mustRecord(r, want...)
	_, own := e.readRecords(e.recorder(), 0)
	e.checkRecords(own, want)
}

func recordsUpToALimit(e *env) {
	r := e.recorder()
	now := time.Now()
	for i := range 5 {
		e.mustRecord(r, e.newRemoval(fmt.Sprint(i), now.Add(time.Duration(i)*time.Microsecond)))
	}
	for _, limit := range []int{1, 3} {
		// Others may write at this moment, but not always.
		e.eventually(fmt.Sprintf("the latest %d records", limit), func() bool {
			latest, _ := e.readRecords(r, limit)
			all, _ := e.readRecords(r, 0)
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

// theLatestRecordsAreKept writes more records than are kept, old and new in any order. They are
// older than those of other checks, which may use the same server and must not lose theirs.
func theLatestRecordsAreKept(e *env) {
	began := time.Now().Add(-time.Hour)
	var written []driver.Removal
	for i := range driver.MaxRemovals + 30 {
		written = append(written, e.newRemoval("name", began.Add(time.Duration(i)*time.Microsecond)))
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
	all, own := e.readRecords(r, 0)
	if more, _ := e.readRecords(r, 2*driver.MaxRemovals); len(all) != driver.MaxRemovals ||
		len(more) != driver.MaxRemovals {
		e.Fatalf("%d records are kept, and %d are shown of them; want %d", len(more), len(all), driver.MaxRemovals)
	}
	slices.Reverse(written)
	e.checkRecords(own, written[:len(own)])
	if oldest := all[len(all)-1].At; len(own) < len(written) && written[len(own)].At.After(oldest) {
		e.Errorf("the record of %v was not kept, but one of %v was", written[len(own)].At, oldest)
	}
}
