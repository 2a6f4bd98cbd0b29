package drivertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

var paging = []check{
	{"ListIsOrdered", listIsOrdered},
	{"ListInPages", listInPages},
	{"ListByPrefixKindAndName", listByPrefixKindAndName},
}

func listIsOrdered(e *env) {
	a := e.open()
	names := []string{"b", "a", "a/b", "B", "10", "9", "ä", "a b"}
	for _, n := range names {
		e.take(a, e.lock(n))
		if e.can.Semaphores {
			e.take(a, e.permits(n, 1, 1))
		}
	}
	var got []string
	for _, st := range e.list(a, driver.Query{}) {
		if st.Kind == driver.Lock {
			if len(got) >= len(names) {
				e.Fatal("a lock is listed behind a semaphore")
			}
		}
		got = append(got, strings.TrimPrefix(st.Name, e.prefix))
	}
	slices.Sort(names) // by bytes
	want := names
	if e.can.Semaphores {
		want = slices.Concat(names, names)
	}
	if !slices.Equal(got, want) {
		e.Errorf("listed %q, want %q", got, want)
	}
}

func listInPages(e *env) {
	a := e.open()
	var want []driver.Key
	for i := range 23 {
		r := e.lock(fmt.Sprintf("name %02d", i))
		e.take(a, r)
		want = append(want, r.Key)
	}
	if e.can.Semaphores {
		for i := range 8 {
			r := e.permits(fmt.Sprintf("name %02d", i), 1, 1)
			e.take(a, r)
			want = append(want, r.Key)
		}
	}
	for _, limit := range []int{1, 5, 23, 31, 100} {
		var got []driver.Key
		q := driver.Query{Limit: limit}
		for {
			page := e.list(a, q)
			if len(page) > limit {
				e.Fatalf("a page of %d has %d entries", limit, len(page))
			}
			for _, st := range page {
				got = append(got, st.Key)
			}
			if len(page) < limit || len(got) > len(want) {
				break
			}
			q.After = page[len(page)-1].Key
		}
		if !slices.Equal(got, want) {
			e.Errorf("pages of %d show %d entries %q, want %d", limit, len(got), got, len(want))
		}
	}
}

// listByPrefixKindAndName uses names that a prefix would match if it were a path, a pattern or a
// part of SQL.
func listByPrefixKindAndName(e *env) {
	a := e.open()
	for _, n := range []string{"a", "ab", "abc", "aB", "b", "a%", "a_c", "a*", "a/b", "a/../c", "..", "c%2fd", "[c]",
		"c\\*d", "é", "\n"} {
		e.take(a, e.lock(n))
	}
	if e.can.Semaphores {
		e.take(a, e.permits("ab", 1, 1))
	}
	expect := func(q driver.Query, want ...string) {
		e.Helper()
		var got []string
		for _, st := range e.list(a, q) {
			got = append(got, strings.TrimPrefix(st.Name, e.prefix))
		}
		if !slices.Equal(got, want) {
			e.Errorf("List of %+v shows %q, want %q", q, got, want)
		}
	}
	expect(driver.Query{Kind: driver.Lock, Prefix: "ab"}, "ab", "abc")
	expect(driver.Query{Kind: driver.Lock, Prefix: "a%"}, "a%")
	expect(driver.Query{Kind: driver.Lock, Prefix: "a_"}, "a_c")
	expect(driver.Query{Kind: driver.Lock, Prefix: "a*"}, "a*")
	expect(driver.Query{Kind: driver.Lock, Prefix: "a/"}, "a/../c", "a/b")
	expect(driver.Query{Kind: driver.Lock, Prefix: "a/.."}, "a/../c")
	expect(driver.Query{Kind: driver.Lock, Prefix: ".."}, "..")
	expect(driver.Query{Kind: driver.Lock, Prefix: "../"})
	expect(driver.Query{Kind: driver.Lock, Prefix: "c/"}) // not the name that is written as %2f
	expect(driver.Query{Kind: driver.Lock, Prefix: "c%2"}, "c%2fd")
	expect(driver.Query{Kind: driver.Lock, Prefix: "c\\"}, "c\\*d")
	expect(driver.Query{Kind: driver.Lock, Prefix: "[c"}, "[c]")
	expect(driver.Query{Kind: driver.Lock, Prefix: "[a-z]"})
	expect(driver.Query{Kind: driver.Lock, Prefix: "?"})
	expect(driver.Query{Kind: driver.Lock, Prefix: "\n"}, "\n")
	expect(driver.Query{Kind: driver.Lock, Prefix: "é"}, "é")
	expect(driver.Query{Kind: driver.Lock, Prefix: "a\x00"})
	expect(driver.Query{Prefix: strings.Repeat("x", 2*maxName)})
	expect(driver.Query{Prefix: "x"})
	expect(driver.Query{Kind: driver.Latch})
	expect(driver.Query{Kind: driver.Lock, Name: e.prefix + "ab"}, "ab")
	expect(driver.Query{Name: e.prefix + "a"}, "a")
	expect(driver.Query{Name: e.prefix})
	if e.can.Semaphores {
		expect(driver.Query{Kind: driver.Semaphore}, "ab")
		expect(driver.Query{Name: e.prefix + "ab"}, "ab", "ab")
	}
}
