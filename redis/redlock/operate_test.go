package redlock_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

func walk(t *testing.T, e *redlock.Engine, q driver.Query) (names []string, err error) {
	t.Helper()
	err = e.Walk(t.Context(), q, func(piece []driver.Status) bool {
		for _, st := range piece {
			if len(st.Holders) != 1 {
				t.Errorf("visited %+v, want one holder", st)
			}
			names = append(names, st.Name)
		}
		return true
	})
	return names, err
}

func mustWalk(t *testing.T, e *redlock.Engine, q driver.Query) []string {
	t.Helper()
	names, err := walk(t, e, q)
	if err != nil {
		t.Fatalf("Walk: %v", err)
	}
	return names
}

func findLeaks(t *testing.T, e *redlock.Engine) (all []driver.Leak, err error) {
	t.Helper()
	err = e.Leaks(t.Context(), driver.Query{}, func(l driver.Leak) bool {
		all = append(all, l)
		return true
	})
	return all, err
}

// Requests of operators to five servers are answered while one of the servers is down.
func TestOperatingWithOneOfFiveDown(t *testing.T) {
	t.Parallel()
	s := servers(t, 5)
	at := addresses(s)
	e := open(t, at, patient)
	var want []string
	for i := range 250 {
		r := driver.Request{
			Key:    driver.Key{Kind: driver.Lock, Name: fmt.Sprintf("name %03d", i)},
			Owner:  fmt.Sprint("owner ", i),
			Size:   1,
			Weight: 1,
			TTL:    time.Minute,
			Tokens: 1,
			Holder: "test",
		}
		if _, err := e.Take(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		want = append(want, r.Name)
	}
	removal := driver.Removal{
		ID:      "1",
		At:      time.UnixMicro(1_800_000_000_000_001).UTC(),
		Key:     driver.Key{Kind: driver.Lock, Name: "name 000"},
		Token:   7,
		By:      "me",
		Outcome: driver.Asked,
	}
	if err := e.Record(t.Context(), removal); err != nil {
		t.Fatal(err)
	}
	s[4].Kill()

	if got := mustWalk(t, e, driver.Query{}); !slices.Equal(got, want) {
		t.Errorf("visited %q, want %q", got, want)
	}
	if got := mustWalk(t, e, driver.Query{Name: "name 007"}); !slices.Equal(got, want[7:8]) {
		t.Errorf("visited %q", got)
	}

	// A key without an expiry on one server is no lock. But the other names have one server less.
	for _, on := range []int{1, 2} {
		if _, err := s[on].Command("SET", redis.DefaultPrefix+"stuck", fmt.Sprint("foreign ", on)); err != nil {
			t.Fatal(err)
		}
	}
	leaks, err := findLeaks(t, e)
	if err == nil || !strings.Contains(err.Error(), at[4]) || strings.Contains(err.Error(), at[0]) {
		t.Errorf("while one is down: %v, want an error that names it alone", err)
	}
	if len(leaks) != 2 || leaks[0].Server == leaks[1].Server {
		t.Fatalf("found %+v, want one of each of two servers", leaks)
	}
	for _, l := range leaks {
		if l.Sort != driver.EndlessLease || !slices.Contains(at[1:3], l.Server) {
			t.Errorf("found %+v", l)
		}
	}
	// On one of the two, the key now belongs to somebody else.
	lost := slices.Index(at, leaks[1].Server)
	if _, err := s[lost].Command("SET", redis.DefaultPrefix+"stuck", "another"); err != nil {
		t.Fatal(err)
	}
	if err := e.Sweep(t.Context(), leaks[0]); err != nil {
		t.Errorf("Sweep: %v", err)
	}
	if err := e.Sweep(t.Context(), leaks[1]); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Sweep of what is another's: %v, want ErrNotHeld", err)
	}
	if left, _ := findLeaks(t, e); len(left) != 1 || left[0].Server != at[lost] {
		t.Errorf("left is %+v, want that of %s", left, at[lost])
	}

	removal.Outcome = driver.Removed
	if err := e.Record(t.Context(), removal); err != nil {
		t.Errorf("Record: %v", err)
	}
	if err := s[4].Restart(); err != nil { // it comes back empty
		t.Fatal(err)
	}
	s[0].Kill()
	if all, err := e.Records(t.Context(), 0); err != nil || !slices.Equal(all, []driver.Removal{removal}) {
		t.Errorf("the records are %+v, %v; want %+v", all, err, removal)
	}
	s[1].Kill()
	s[2].Kill()
	// For up to a second the client repeats its last failure to connect to the server that has come back.
	await(t, "two of five record", func() bool {
		err := e.Record(t.Context(), removal)
		if err == nil {
			t.Fatal("recorded by two of five")
		}
		return strings.Contains(err.Error(), "2 of 5 nodes")
	})
	if _, err := e.Records(t.Context(), 0); err == nil {
		t.Error("two of five have returned all records")
	}
	if err := e.Walk(t.Context(), driver.Query{},
		func([]driver.Status) bool { return true }); err == nil || !driver.HadNoEffect(err) {
		t.Errorf("two of five have listed all locks: %v", err)
	}
}

// A frozen server costs a walk no more than its time limit.
func TestWalkPastAFrozenServer(t *testing.T) {
	t.Parallel()
	s := servers(t, 3)
	at := addresses(s)
	e := open(t, at, redlock.WithNodeTimeout(time.Second))
	r := driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: "a"},
		Owner:  "owner",
		Size:   1,
		Weight: 1,
		TTL:    time.Minute,
		Tokens: 1,
		Holder: "test",
	}
	if _, err := open(t, at, patient).Take(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := s[1].Pause(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s[1].Resume(); err != nil {
			t.Error(err)
		}
	}()
	// On a busy machine other servers may be silent as well, so that too few are left: then the walk is repeated.
	for end := time.Now().Add(patience); ; {
		began := time.Now()
		got, err := walk(t, e, driver.Query{})
		if err != nil && time.Now().Before(end) {
			continue
		}
		if took := time.Since(began); err != nil || !slices.Equal(got, []string{"a"}) || took > 10*time.Second {
			t.Errorf("visited %q, %v after %v", got, err, took)
		}
		return
	}
}
