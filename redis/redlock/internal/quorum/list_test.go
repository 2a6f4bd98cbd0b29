package quorum

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// holders lists the name of the tests.
func (s *testQuorum) holders(e *Engine) []driver.Holder {
	s.t.Helper()
	page, err := e.List(s.t.Context(), driver.Query{Kind: driver.Lock, Name: key.Name})
	if err != nil {
		s.t.Fatalf("List: %v", err)
	}
	if len(page) == 0 {
		return nil
	}
	return page[0].Holders
}

// A name held by three of five nodes stays listed when one of them does not answer. A name held by two of
// five is not listed.
func TestListingWithNodesMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 5)
		s.takeOn(3, request("other"))
		s.takeOn(4, request("other"))
		e := s.client(steady)
		g := s.mustTake(e, "owner")
		for _, c := range []struct{ frozen, held int }{{0, 1}, {1, 1}, {3, 1}} {
			s.nodes[c.frozen].freeze()
			holders := s.holders(e)
			if len(holders) != c.held || holders[0].Token != g.Token || holders[0].TTL <= 0 || holders[0].TTL > ttl {
				t.Errorf("node %d is frozen: listed %+v, want the holder of %d", c.frozen, holders, g.Token)
			}
			s.nodes[c.frozen].thaw()
			time.Sleep(time.Second)
		}
		s.mustRelease(e, "owner")
		time.Sleep(time.Second)
		if holders := s.holders(e); len(holders) != 0 {
			t.Errorf("listed %+v, which two of five have", holders)
		}
		for i := range 3 {
			s.nodes[i].freeze()
		}
		_, err := e.List(t.Context(), driver.Query{})
		if err == nil || !strings.Contains(err.Error(), "2 of 5 nodes") ||
			!strings.Contains(err.Error(), "node 2 no answer") ||
			strings.Contains(err.Error(), "node 3") {
			t.Errorf("a listing with two of five: %v", err)
		}
		for i := range 3 {
			s.nodes[i].thaw()
		}
		time.Sleep(time.Minute)
	})
}

// A page of one node may end before that of another node. Nothing is left out for that.
func TestListingInPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		e := s.client(steady)
		named := func(name string) driver.Request {
			r := request("owner of " + name)
			r.Name, r.TTL = name, time.Hour
			return r
		}
		var want []string
		for i := range 10 {
			r := named(fmt.Sprint("name ", i))
			for on := range 3 {
				switch {
				case on != i%3: // each name is missing on one node
					s.takeFromOn(on, r, uint64(1000*(i+1)))
				default: // which has other names before it
					s.takeOn(on, named(fmt.Sprint("name ", i, " of one")))
					s.takeOn(on, named(fmt.Sprint("name ", i, " of one alone")))
				}
			}
			want = append(want, r.Name)
		}
		for _, name := range []string{"few a", "few b", "few c"} { // one node's page, which ends before the others'
			s.takeOn(0, named(name))
		}
		few := named("few n")
		s.takeFromOn(1, few, 100_000)
		s.takeFromOn(2, few, 100_000)
		want = append([]string{few.Name}, want...)
		for _, limit := range []int{1, 2, 3, 7, 1000} {
			var got []string
			for q := (driver.Query{Limit: limit}); ; {
				page, err := e.List(context.Background(), q)
				if err != nil || len(page) > limit {
					t.Fatalf("a page of %d has %d entries, %v", limit, len(page), err)
				}
				if len(page) == 0 {
					break
				}
				for _, st := range page {
					got = append(got, st.Name)
				}
				q.After = page[len(page)-1].Key
			}
			if !slices.Equal(got, want) {
				t.Errorf("pages of %d: listed %q, want %q", limit, got, want)
			}
		}
		if page, err := e.List(t.Context(),
			driver.Query{Prefix: "few", Limit: 3}); err != nil || len(page) != 1 || page[0].Name != few.Name {
			t.Errorf("listed %+v, %v, want %s once", page, err, few.Name)
		}
	})
}
