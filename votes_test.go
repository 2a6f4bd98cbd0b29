package leasehold_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// votingNodes is an engine of several nodes, which say what a test wants.
type votingNodes struct {
	*spy
	say func() ([]driver.Vote, error)
}

func (p votingNodes) Votes(_ context.Context, k driver.Key) (all []driver.Vote, err error) {
	return runSpied(p.spy, call{method: "Votes", name: k.Kind.String() + " " + k.Name}, p.say)
}

func TestVotesArePassedOn(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		e.can.Votes = true
		said := []driver.Vote{
			{Node: "a", Holders: []driver.Holder{{Token: 7, Holder: "host-a:1", TTL: time.Second}}},
			{Node: "b", Closed: time.Minute},
			{Node: "c", Err: driver.ErrSilent},
		}
		p := votingNodes{e, func() ([]driver.Vote, error) { return said, nil }}
		c := newClient(t, p)
		all, err := c.Votes(t.Context(), leasehold.KindLock, "order")
		expect(t, err, nil)
		if len(all) != 3 || all[0].Holders[0].Token != 7 || all[1].Closed != time.Minute ||
			!errors.Is(all[2].Err, leasehold.ErrSilent) {
			t.Errorf("got %+v", all)
		}
		if asked := e.last(t, "Votes").name; asked != "lock order" {
			t.Errorf("asked for %q", asked)
		}
		p.say = func() ([]driver.Vote, error) { return nil, errors.New("the floor is wet") }
		_, err = newClient(t, p).Votes(t.Context(), leasehold.KindLock, "order")
		expectOnly(t, err, leasehold.ErrUnavailable)
		if failed, ok := errors.AsType[*leasehold.Error](err); !ok || failed.Name != "order" ||
			failed.Kind != leasehold.KindLock {
			t.Errorf("the error does not say what it is about: %v", err)
		}
	})
}

func TestVotesThatCannotBe(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		_, err := c.Votes(t.Context(), leasehold.KindLock, "order")
		expectOnly(t, err, leasehold.ErrUnsupported)
		_, err = newClient(t, votingNodes{e, nil}).Votes(t.Context(), leasehold.KindLock, "order")
		expectOnly(t, err, leasehold.ErrUnsupported) // the ability decides
		for _, name := range []string{"", "a\xff"} {
			_, err = c.Votes(t.Context(), leasehold.KindLock, name)
			expectOnly(t, err, leasehold.ErrInvalid)
		}
		for _, kind := range []leasehold.Kind{0, 9} {
			_, err = c.Votes(t.Context(), kind, "order")
			expectOnly(t, err, leasehold.ErrInvalid)
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		e.can.Votes = true
		closed := newClient(t, votingNodes{e, func() ([]driver.Vote, error) { return nil, nil }})
		closed.Close()
		_, err = closed.Votes(t.Context(), leasehold.KindLock, "order")
		expectOnly(t, err, leasehold.ErrClosed)
	})
}
