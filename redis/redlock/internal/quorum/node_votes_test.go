package quorum

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Each node says what it knows, whatever has happened to it.
func TestVotesOfEachNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 5)
		e := s.client(steady)
		r := request("owner")
		r.Holder = "the holder"
		s.takeFromOn(0, r, 100)
		s.takeFromOn(1, r, 100)
		s.nodes[1].crash(0, true)
		s.nodes[2].crash(0, false)
		s.nodes[3].freeze()
		s.nodes[4].crash(time.Hour, true)
		var all []driver.Vote
		if d := durationOf(func() {
			var err error
			if all, err = e.Votes(t.Context(), key); err != nil || len(all) != 5 {
				t.Fatalf("%d votes, %v", len(all), err)
			}
		}); d > e.answerTimeout() {
			t.Errorf("it takes %v", d)
		}
		for i, v := range all {
			if v.Node != e.nodes[i].name {
				t.Errorf("vote %d is of %q", i, v.Node)
			}
			if holds := len(v.Holders) == 1 && v.Holders[0].Token == 100 && v.Holders[0].Holder == "the holder" &&
				v.Holders[0].TTL > 9*time.Second; holds != (i < 2) ||
				!holds && len(v.Holders) > 0 {
				t.Errorf("%s has the holders %+v", v.Node, v.Holders)
			}
			if closed := v.Closed > 59*time.Second &&
				v.Closed <= time.Minute; closed != (i == 1 || i == 2) ||
				!closed && v.Closed != 0 {
				t.Errorf("%s is closed for %v", v.Node, v.Closed)
			}
		}
		if all[0].Err != nil || all[1].Err != nil || all[2].Err != nil || !errors.Is(all[3].Err, driver.ErrSilent) ||
			!errors.Is(all[4].Err, errCut) {
			t.Errorf("the votes are %+v", all)
		}
		if s.freeNodes() != 3 {
			t.Error("the request has changed something")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		defer cancel()
		if d := durationOf(func() {
			if _, err := e.Votes(ctx, key); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with a deadline of its own: %v", err)
			}
		}); d != 100*ms {
			t.Errorf("with a deadline of its own it takes %v", d)
		}
		s.nodes[3].thaw()
		time.Sleep(time.Second)
		e.Close()
		if _, err := e.Votes(t.Context(), key); !driver.IsPermanent(err) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// slowLister is a node whose listings take longer than they may.
type slowLister struct{ memoryNode }

func (l slowLister) List(context.Context, driver.Query) ([]driver.Status, error) {
	time.Sleep(2 * time.Second)
	return l.Engine.List(context.Background(), driver.Query{})
}

// A late answer does no harm. The race detector watches.
func TestAnswerThatComesTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := request("owner")
		nodes := []Node{newMemoryNode(), newMemoryNode(), slowLister{newMemoryNode()}}
		for _, n := range nodes {
			if _, err := n.Take(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		e := newQuorum(nodes...)
		defer e.Close()
		page, err := e.List(t.Context(), driver.Query{})
		if err != nil || len(page) != 1 || len(page[0].Holders) != 1 {
			t.Errorf("listed %+v, %v", page, err)
		}
		all, err := e.Votes(t.Context(), key)
		if err != nil || len(all) != 3 || !errors.Is(all[2].Err, driver.ErrSilent) || len(all[2].Holders) > 0 {
			t.Errorf("the votes are %+v, %v", all, err)
		}
		time.Sleep(time.Minute)
	})
}
