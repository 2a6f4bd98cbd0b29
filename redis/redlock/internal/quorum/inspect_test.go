package quorum

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// What each place says, whatever has happened to it.
func TestVotesOfEachPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 5)
		e := s.client(steady)
		r := request("owner")
		r.Holder, r.Floor = "the holder", 100
		s.takeOn(0, r)
		s.takeOn(1, r)
		s.places[1].crash(0, true)
		s.places[2].crash(0, false)
		s.places[3].freeze()
		s.places[4].crash(time.Hour, true)
		var all []driver.Vote
		if d := took(func() {
			var err error
			if all, err = e.Votes(t.Context(), key); err != nil || len(all) != 5 {
				t.Fatalf("%d votes, %v", len(all), err)
			}
		}); d > e.patience() {
			t.Errorf("it takes %v", d)
		}
		for i, v := range all {
			if v.Place != e.nodes[i].name {
				t.Errorf("vote %d is of %q", i, v.Place)
			}
			if holds := len(v.Holders) == 1 && v.Holders[0].Token == 100 && v.Holders[0].Holder == "the holder" && v.Holders[0].TTL > 9*time.Second; holds != (i < 2) || !holds && len(v.Holders) > 0 {
				t.Errorf("%s has the holders %+v", v.Place, v.Holders)
			}
			if closed := v.Closed > 59*time.Second && v.Closed <= time.Minute; closed != (i == 1 || i == 2) || !closed && v.Closed != 0 {
				t.Errorf("%s is closed for %v", v.Place, v.Closed)
			}
		}
		if all[0].Err != nil || all[1].Err != nil || all[2].Err != nil || !errors.Is(all[3].Err, driver.ErrSilent) || !errors.Is(all[4].Err, errCut) {
			t.Errorf("the votes are %+v", all)
		}
		if s.free() != 3 {
			t.Error("the look has changed something")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		defer cancel()
		if d := took(func() {
			if _, err := e.Votes(ctx, key); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with an end of its own: %v", err)
			}
		}); d != 100*ms {
			t.Errorf("with an end of its own it takes %v", d)
		}
		s.places[3].thaw()
		time.Sleep(time.Second)
		e.Close()
		if _, err := e.Votes(t.Context(), key); !driver.IsPermanent(err) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// late is a node whose listings take longer than they have.
type late struct{ *memory.Engine }

func (l late) List(context.Context, driver.Query) ([]driver.Status, error) {
	time.Sleep(2 * time.Second)
	return l.Engine.List(context.Background(), driver.Query{})
}

// What a node says when nobody waits for it any more comes in nobody's way. The race detector looks on.
func TestAnswerThatComesTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := request("owner")
		nodes := []Node{memory.New(), memory.New(), late{memory.New()}}
		for _, n := range nodes {
			if _, err := n.Take(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		e := over(nodes...)
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
