package paging_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

func key(kind driver.Kind, name string) driver.Key { return driver.Key{Kind: kind, Name: name} }

// Bounds and Matches choose the same names, and so do the keys of etcd, which append a zero byte and more.
func TestNamesOfAQuery(t *testing.T) {
	t.Parallel()
	all := []string{"a", "a\x01", "a/", "a/1", "a/\U0010ffff", "a0", "b", "\U0010ffff"}
	for _, test := range []struct {
		query driver.Query
		want  []string
	}{
		{driver.Query{}, all},
		{driver.Query{Name: "a"}, []string{"a"}},
		{driver.Query{Prefix: "a/"}, []string{"a/", "a/1", "a/\U0010ffff"}},
		{driver.Query{Prefix: "\U0010ffff"}, []string{"\U0010ffff"}},
		{driver.Query{Name: "a/1", Prefix: "b"}, nil},
		{driver.Query{Name: "a/1", After: key(driver.Lock, "a/1")}, nil},
		{driver.Query{After: key(driver.Lock, "a")}, all[1:]},
		{driver.Query{Prefix: "a", After: key(driver.Lock, "a/1")}, []string{"a/\U0010ffff", "a0"}},
	} {
		from, to := paging.Bounds(test.query, driver.Lock)
		var bound, longer, matching []string
		for _, name := range all {
			if from <= name && name < to {
				bound = append(bound, name)
			}
			if more := name + "\x00more"; from <= more && more < to {
				longer = append(longer, name)
			}
			if paging.Matches(test.query, key(driver.Lock, name)) {
				matching = append(matching, name)
			}
		}
		if !slices.Equal(bound, test.want) || !slices.Equal(longer, test.want) || !slices.Equal(matching, test.want) {
			t.Errorf("%+v gives %q, %q and %q, want %q", test.query, bound, longer, matching, test.want)
		}
	}
}

func TestKindsAndKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		query       driver.Query
		kinds, keys []driver.Kind // keys are those of the name "n"
	}{
		{driver.Query{}, driver.Kinds[:], driver.Kinds[:]},
		{driver.Query{Kind: driver.Semaphore}, driver.Kinds[1:2], driver.Kinds[1:2]},
		{driver.Query{After: key(driver.Semaphore, "m")}, driver.Kinds[1:], driver.Kinds[1:]},
		{driver.Query{After: key(driver.Semaphore, "n")}, driver.Kinds[1:], driver.Kinds[2:]},
		{driver.Query{Kind: driver.Lock, After: key(driver.Semaphore, "a")}, nil, nil},
		{driver.Query{Prefix: "o"}, driver.Kinds[:], nil},
	} {
		var keys []driver.Kind
		kinds := slices.Collect(paging.Kinds(test.query))
		test.query.Name = "n"
		for _, k := range paging.Keys(test.query) {
			keys = append(keys, k.Kind)
		}
		if !slices.Equal(kinds, test.kinds) || !slices.Equal(keys, test.keys) {
			t.Errorf("%+v has the kinds %v, and keys of %v", test.query, kinds, keys)
		}
	}
	for range paging.Kinds(driver.Query{}) {
		break // which ends the iteration
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for given, limit := range map[int]int{0: paging.PageSize, -1: paging.PageSize, 5: 5, 5000: 5000} {
		for _, wrong := range []error{nil, failed} {
			q := driver.Query{Limit: given, Prefix: "p", Progress: func(int) {}}
			page, err := paging.Collect(q, func(q driver.Query, visit func([]driver.Status) bool) error {
				if q.Limit != limit || q.Prefix != "p" || q.Progress != nil {
					t.Errorf("the query is %+v, want the limit %d", q, limit)
				}
				if !visit([]driver.Status{{Waiting: 1}, {Waiting: 2}}) || !visit([]driver.Status{{Waiting: 3}}) {
					t.Error("the walk is ended")
				}
				return wrong
			})
			if !errors.Is(err, wrong) || wrong == nil && (len(page) != 3 || page[2].Waiting != 3) ||
				wrong != nil && page != nil {
				t.Errorf("%+v, %v", page, err)
			}
		}
	}
}

func TestLeaks(t *testing.T) {
	t.Parallel()
	for _, total := range []int{0, 1, paging.PageSize, 2*paging.PageSize + 7} {
		var all []driver.Leak
		for i := range total {
			all = append(all, driver.Leak{Key: key(driver.Lock, fmt.Sprintf("%05d", i))})
		}
		read := func(q driver.Query) ([]driver.Leak, error) {
			at := slices.IndexFunc(all, func(l driver.Leak) bool { return paging.Matches(q, l.Key) })
			if at < 0 {
				return nil, nil
			}
			return all[at:min(at+paging.PageSize, total)], nil
		}
		var visited []driver.Leak
		visit := func(l driver.Leak) bool { visited = append(visited, l); return true }
		if more, err := paging.Leaks(driver.Query{}, read, visit); !more || err != nil || !slices.Equal(visited, all) {
			t.Errorf("%d of %d visited, %v, %v", len(visited), total, more, err)
		}
		first := 0
		more, err := paging.Leaks(driver.Query{}, read, func(driver.Leak) bool { first++; return false })
		if more != (total == 0) || err != nil || first > 1 {
			t.Errorf("visit ends it: %d visited, %v, %v", first, more, err)
		}
	}
	failed := errors.New("failed")
	more, err := paging.Leaks(driver.Query{}, func(driver.Query) ([]driver.Leak, error) { return nil, failed }, nil)
	if more || !errors.Is(err, failed) {
		t.Errorf("%v, %v", more, err)
	}
}
