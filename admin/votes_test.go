package admin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// votingNodes is an engine of several nodes, which say what a test wants.
type votingNodes struct {
	*spy
	say func() ([]driver.Vote, error)
}

func (p votingNodes) Votes(ctx context.Context, k driver.Key) (all []driver.Vote, err error) {
	return runSpied(ctx, p.spy, "Votes", k.Kind.String()+" "+k.Name, p.say)
}

func TestVotesArePassedOn(t *testing.T) {
	inBubble(t, func(t *testing.T, e *spy) {
		said := []driver.Vote{
			{Node: "a", Holders: []driver.Holder{{Token: 7, Holder: "host-a:1", TTL: time.Second}}},
			{Node: "b", Closed: time.Minute},
			{Node: "c", Err: driver.ErrSilent},
		}
		p := votingNodes{e, func() ([]driver.Vote, error) { return said, nil }}
		c := admin.New(p)
		all, err := c.Votes(t.Context(), driver.Lock, "order")
		expect(t, err, nil)
		if len(all) != 3 || all[0].Holders[0].Token != 7 || all[1].Closed != time.Minute ||
			!errors.Is(all[2].Err, admin.ErrSilent) {
			t.Errorf("got %+v", all)
		}
		if len(e.calls) != 1 || e.calls[0].name != "lock order" {
			t.Errorf("asked for %+v", e.calls)
		}
		p.say = func() ([]driver.Vote, error) { return nil, errors.New("the floor is wet") }
		_, err = admin.New(p).Votes(t.Context(), driver.Lock, "order")
		expectOnly(t, err, leasehold.ErrUnavailable)
		expectAbout(t, err, driver.Lock, "order")
	})
}
