package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

func removal(id string, outcome driver.Outcome) driver.Removal {
	return driver.Removal{ID: id, At: time.UnixMicro(1_800_000_000_000_001).UTC(),
		Key: driver.Key{Kind: driver.Lock, Name: "a"}, Token: driver.MaxToken,
		Holder: "host:1 program", By: "operator", Why: "it\n hangs \"\\\xf0\x9f\x94\x92", Outcome: outcome}
}

// A user who may not use the keys of removal records can lock, and is told which rights are missing.
func TestRecordsThatAreForbidden(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	rights := slices.DeleteFunc(smallestRights(t), func(word string) bool { return strings.HasPrefix(word, "~") })
	addUser(t, s, "orders", append(rights, "~lock:orders:*", "~{lock:orders:*"))
	e := unguarded(t, asUser(s, "orders"))
	mustTake(t, e, lasting("orders:1", time.Minute))
	_, read := e.Records(t.Context(), 0)
	for what, err := range map[string]error{"Record": e.Record(t.Context(), removal("1", driver.Asked)),
		"Records": read} {
		if !driver.IsPermanent(err) || !strings.Contains(err.Error(), "records of removals") ||
			!strings.Contains(err.Error(), "{lock:}:removals") || !strings.Contains(err.Error(), "smallest rights") {
			t.Errorf("%s: %v, want a permanent error that says which rights are missing", what, err)
		}
	}
	mustTake(t, e, lasting("orders:2", time.Minute))
}

// A removal can be recorded when the server has no memory left, and so can the lock be released by force.
func TestRecordWithoutMemory(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	r := lasting("a", time.Minute)
	g := mustTake(t, e, r)
	command(t, s, "CONFIG", "SET", "maxmemory", "1")
	if _, err := e.Take(t.Context(), lasting("b", time.Minute)); err == nil {
		t.Fatal("the server has memory left")
	}
	if err := e.Record(t.Context(), removal("1", driver.Asked)); err != nil {
		t.Errorf("Record: %v", err)
	}
	if err := e.ForceRelease(t.Context(), r.Key, g.Token); err != nil {
		t.Errorf("ForceRelease: %v", err)
	}
	if all, err := e.Records(t.Context(), 0); err != nil ||
		!slices.Equal(all, []driver.Removal{removal("1", driver.Asked)}) {
		t.Errorf("recorded: %+v, %v", all, err)
	}
}

// Removal records are no locks and no leaks, and their number is limited.
func TestRecordsAreApart(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	const n = driver.MaxRemovals + 250
	for i := range n {
		r := removal(fmt.Sprint(i), driver.Removed)
		r.At = r.At.Add(time.Duration(i) * time.Microsecond)
		if err := e.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	all, err := e.Records(t.Context(), 0)
	if err != nil || len(all) != driver.MaxRemovals || all[0].ID != fmt.Sprint(n-1) ||
		all[len(all)-1].ID != fmt.Sprint(n-driver.MaxRemovals) {
		t.Errorf("%d are recorded, %v", len(all), err)
	}
	for _, count := range []string{"ZCARD {lock:}:removals", "HLEN {lock:}:removal-texts"} {
		if got := command(t, s, strings.Fields(count)...); got != int64(driver.MaxRemovals) {
			t.Errorf("%s says %v", count, got)
		}
	}
	if got, err := walkNames(t.Context(), e, driver.Query{}); err != nil || len(got) > 0 {
		t.Errorf("found the locks %q, %v", got, err)
	}
	if got, err := findLeaks(t.Context(), e, driver.Query{}); err != nil || len(got) > 0 {
		t.Errorf("found the leaks %+v, %v", got, err)
	}
	if got, err := e.Records(t.Context(), 150); err != nil || !slices.Equal(got, all[:150]) {
		t.Errorf("of the latest 150, %d were returned, %v", len(got), err)
	}
}

// Damage that another program has done to the records is reported, and keeps nobody from locking.
func TestRecordsThatAreDamaged(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for _, id := range []string{"1", "2"} {
		if err := e.Record(t.Context(), removal(id, driver.Asked)); err != nil {
			t.Fatal(err)
		}
	}
	command(t, s, "HDEL", "{lock:}:removal-texts", "1")
	if all, err := e.Records(t.Context(), 0); err != nil || len(all) != 1 || all[0].ID != "2" {
		t.Errorf("with a lost record: %+v, %v", all, err)
	}
	command(t, s, "HSET", "{lock:}:removal-texts", "1", "{")
	if _, err := e.Records(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "delete") {
		t.Errorf("with a damaged record: %v", err)
	}
	command(t, s, "DEL", "{lock:}:removals")
	command(t, s, "RPUSH", "{lock:}:removals", "a")
	if err := e.Record(t.Context(), removal("3", driver.Asked)); !driver.IsPermanent(err) ||
		!strings.Contains(err.Error(), "another program") {
		t.Errorf("with a key of another program: %v", err)
	}
	mustTake(t, e, lasting("a", time.Minute))
}
