package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// searchingNode is a node that has to search for names, and may have leaks. Before each page or leak it calls stop.
type searchingNode struct {
	memoryNode
	size   int                                    // of a page
	pieces atomic.Int64                           // visited so far
	stop   func(ctx context.Context, n int) error // before the nth page
	leaks  []driver.Leak
	swept  []driver.Leak
	refuse error
}

func (s *searchingNode) Abilities() driver.Abilities {
	a := s.Engine.Abilities()
	a.Walk = true
	return a
}

func (s *searchingNode) before(ctx context.Context) error {
	n := int(s.pieces.Add(1))
	if s.stop != nil {
		return s.stop(ctx, n)
	}
	return ctx.Err()
}

func (s *searchingNode) Walk(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	for q.Limit = s.size; ; {
		q.Progress(int(s.pieces.Load()) * s.size)
		page, err := s.List(ctx, q)
		if err == nil {
			err = s.before(ctx)
		}
		if err != nil || len(page) == 0 || !visit(page) {
			return err
		}
		q.After = page[len(page)-1].Key
	}
}

func (s *searchingNode) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	for _, l := range s.leaks {
		if err := s.before(ctx); err != nil || !visit(l) {
			return err
		}
	}
	return s.before(ctx)
}

func (s *searchingNode) Sweep(ctx context.Context, l driver.Leak) error {
	if err := s.before(ctx); err != nil {
		return err
	}
	s.swept = append(s.swept, l)
	return s.refuse
}

func (s *searchingNode) Record(ctx context.Context, r driver.Removal) error {
	if s.refuse != nil {
		return s.refuse
	}
	return s.Engine.Record(ctx, r)
}

// hangFrom hangs from the nth page on.
func hangFrom(nth int) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		if n >= nth {
			<-ctx.Done()
		}
		return ctx.Err()
	}
}

// failFrom fails from the nth page on.
func failFrom(nth int) func(context.Context, int) error {
	return func(_ context.Context, n int) error {
		if n >= nth {
			return errCut
		}
		return nil
	}
}

// newSearchingNodes returns nodes with pages of different sizes, and a quorum of them that holds some names.
func newSearchingNodes(t *testing.T, n, names int) (nodes []*searchingNode, e *Engine, want []string) {
	t.Helper()
	var all []Node
	for i := range n {
		s := &searchingNode{memoryNode: newMemoryNode(), size: 3 + 2*i}
		nodes, all = append(nodes, s), append(all, s)
	}
	e = newQuorum(all...)
	for i := range names {
		r := request(fmt.Sprint("owner of ", i))
		r.Name, r.TTL = fmt.Sprintf("name %03d", i), time.Hour
		if _, err := e.Take(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		want = append(want, r.Name)
	}
	synctest.Wait()
	return nodes, e, want
}

func walkNames(ctx context.Context, e *Engine, q driver.Query) (names []string, err error) {
	err = e.Walk(ctx, q, func(piece []driver.Status) bool {
		for _, st := range piece {
			names = append(names, st.Name)
		}
		return true
	})
	return names, err
}

// Names that a majority holds are visited once and in order, while nodes fail or fall silent, as long as a
// majority answers. That takes no longer than it takes to find the nodes silent.
func TestWalkWhileNodesFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stops []func(context.Context, int) error
		fails bool
	}{
		"all are healthy":           {nil, false},
		"one is cut":                {[]func(context.Context, int) error{failFrom(4)}, false},
		"one says nothing":          {[]func(context.Context, int) error{hangFrom(1)}, false},
		"one falls silent":          {[]func(context.Context, int) error{nil, nil, hangFrom(3)}, false},
		"two fall silent":           {[]func(context.Context, int) error{nil, hangFrom(3), nil, hangFrom(3)}, false},
		"one is cut, one is silent": {[]func(context.Context, int) error{failFrom(2), nil, hangFrom(2)}, false},
		"a majority is cut":         {[]func(context.Context, int) error{failFrom(2), failFrom(3), failFrom(1)}, true},
		"a majority falls silent":   {[]func(context.Context, int) error{hangFrom(2), hangFrom(3), hangFrom(1)}, true},
		"a majority ends, and fails": {
			[]func(context.Context, int) error{failFrom(5), nil, hangFrom(2), hangFrom(3)}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				nodes, e, want := newSearchingNodes(t, 5, 50)
				defer e.Close()
				for i, stop := range c.stops {
					nodes[i].stop = stop
				}
				searched := 0
				var got []string
				var err error
				if d := durationOf(func() {
					got, err = walkNames(t.Context(), e, driver.Query{Progress: func(n int) {
						if n < searched {
							t.Errorf("%d searched, and %d before", n, searched)
						}
						searched = n
					}})
				}); d > 3*e.answerTimeout() {
					t.Errorf("it takes %v", d)
				}
				switch {
				case !c.fails && (err != nil || !slices.Equal(got, want)):
					t.Errorf("visited %q, %v; want %q", got, err, want)
				case c.fails &&
					(err == nil || !driver.HadNoEffect(err) || !strings.Contains(err.Error(), "2 of 5 nodes")):
					t.Errorf("visited %q, %v; want an error that says which nodes have not answered", got, err)
				}
				if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) < len(got) {
					t.Errorf("visited %q: not once each, and in order", got)
				}
				if searched == 0 {
					t.Error("nothing says how the search proceeds")
				}
				synctest.Wait()
				if !e.Idle() {
					t.Error("something goes on")
				}
			})
		})
	}
}

// A slow visitor does not make the nodes count as silent.
func TestWalkWithASlowVisitor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, e, want := newSearchingNodes(t, 3, 250)
		defer e.Close()
		n := 0
		err := e.Walk(t.Context(), driver.Query{}, func(piece []driver.Status) bool {
			n += len(piece)
			time.Sleep(time.Hour / 3)
			return true
		})
		if err != nil || n != len(want) {
			t.Errorf("visited %d names, %v", n, err)
		}
	})
}

func TestWalkEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes, e, _ := newSearchingNodes(t, 3, 250)
		calls := 0
		if err := e.Walk(t.Context(), driver.Query{},
			func([]driver.Status) bool { calls++; return false }); err != nil || calls != 1 {
			t.Errorf("a visitor that has seen enough was called %d times, %v", calls, err)
		}
		nodes[0].stop, nodes[1].stop = hangFrom(0), hangFrom(0)
		for _, walk := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := walkNames(ctx, e, driver.Query{}); return err },
			func(ctx context.Context) error {
				return e.Leaks(ctx, driver.Query{}, func(driver.Leak) bool { return true })
			},
			func(ctx context.Context) error { return e.Sweep(ctx, driver.Leak{Server: "node 1"}) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
			if d := durationOf(func() {
				if err := walk(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("with a deadline of its own: %v", err)
				}
			}); d != 100*ms {
				t.Errorf("with a deadline of its own it takes %v", d)
			}
			cancel()
		}
		time.AfterFunc(100*ms, e.Close)
		if _, err := walkNames(t.Context(), e, driver.Query{}); !errors.Is(err, errClosed) {
			t.Errorf("closed on the way: %v", err)
		}
		if _, err := walkNames(t.Context(), e, driver.Query{}); err == nil {
			t.Error("after Close there is no error")
		}
	})
}

// A leak on one node counts, and is swept on that node alone.
func TestLeaksOfEachNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes, e, _ := newSearchingNodes(t, 5, 0)
		defer e.Close()
		leak := driver.Leak{Key: key, Sort: driver.EndlessLease, Count: 1, Mark: "mark"}
		nodes[1].leaks, nodes[3].leaks = []driver.Leak{leak, leak}, []driver.Leak{leak}
		nodes[4].stop = hangFrom(1)
		var names []string
		err := e.Leaks(t.Context(), driver.Query{}, func(l driver.Leak) bool {
			names = append(names, l.Server)
			if l.Server = ""; l != leak {
				t.Errorf("the leak is %+v", l)
			}
			return true
		})
		if slices.Sort(names); !slices.Equal(names, []string{"node 2", "node 2", "node 4"}) {
			t.Errorf("the leaks are on %q", names)
		}
		// The nodes that were not searched are not said to be without leaks.
		if err == nil || !driver.HadNoEffect(err) ||
			!strings.Contains(err.Error(), "4 of 5 nodes have answered, 5 must: node 5 no answer") {
			t.Errorf("with a node that says nothing: %v", err)
		}
		leak.Server = "node 2"
		if err := e.Sweep(t.Context(), leak); err != nil {
			t.Error(err)
		}
		nodes[1].refuse = driver.ErrNotHeld
		if err := e.Sweep(t.Context(), leak); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("of what is gone: %v", err)
		}
		nodes[1].refuse = driver.Permanent(errCut)
		if err := e.Sweep(t.Context(),
			leak); !errors.Is(err, errCut) || !driver.IsPermanent(err) || !strings.Contains(err.Error(), "node 2") {
			t.Errorf("of a node that refuses: %v", err)
		}
		leak.Server = "node 5"
		if err := e.Sweep(t.Context(),
			leak); err == nil || driver.HadNoEffect(err) || !strings.Contains(err.Error(), "node 5") {
			t.Errorf("of a silent node: %v", err)
		}
		leak.Server = "node 6"
		if err := e.Sweep(t.Context(), leak); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("of no node: %v", err)
		}
		synctest.Wait()
		for i, n := range nodes {
			if want := map[int]int{1: 3}[i]; len(n.swept) != want {
				t.Errorf("node %d was swept %d times, want %d", i+1, len(n.swept), want)
			}
		}
	})
}

func TestRecordsOfAMajority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes, e, _ := newSearchingNodes(t, 3, 0)
		defer e.Close()
		at := time.Now().UTC()
		r := driver.Removal{ID: "1", At: at, Key: key, Token: 7, By: "me", Outcome: driver.Asked}
		record := func(r driver.Removal, refuse ...int) error {
			for i, n := range nodes {
				n.refuse = nil
				if slices.Contains(refuse, i) {
					n.refuse = driver.Permanent(errCut)
				}
			}
			err := e.Record(t.Context(), r)
			synctest.Wait()
			return err
		}
		check := func(want ...driver.Removal) {
			t.Helper()
			got, err := e.Records(t.Context(), 0)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("the records are %+v, %v; want %+v", got, err, want)
			}
		}
		if err := record(r, 2); err != nil {
			t.Error(err)
		}
		check(r)
		r.Outcome = driver.Removed
		if err := record(r, 0); err != nil { // node 1 still has the record without an outcome
			t.Error(err)
		}
		check(r)
		other := driver.Removal{ID: "2", At: at.Add(time.Second), Key: key, Token: 8, By: "me", Outcome: driver.Asked}
		if err := record(other, 0, 1); err == nil || !strings.Contains(err.Error(), "1 of 3 nodes") {
			t.Errorf("recorded by one: %v", err)
		}
		check(other, r)
		if got, err := e.Records(t.Context(), 1); err != nil || !slices.Equal(got, []driver.Removal{other}) {
			t.Errorf("the latest is %+v, %v", got, err)
		}
	})
}
