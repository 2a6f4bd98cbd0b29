package quorum

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

func TestVotesAreInTheError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 5)
		e := s.client(steady)
		s.takeOn(0, request("other"))
		s.nodes[1].crash(0, true)
		s.nodes[2].freeze()
		s.nodes[3].crash(time.Hour, true)
		_, err := e.Take(t.Context(), request("owner"))
		votes, ok := errors.AsType[*Error](err)
		if !ok || votes.Need != 3 {
			t.Fatalf("%v, want an error with votes", err)
		}
		for i, want := range []Answer{Held, Closed, NoAnswer, Failed, Granted} {
			if v := votes.Votes[i]; v.Answer != want || !strings.Contains(err.Error(), v.Node+" "+string(want)) {
				t.Errorf("node %d: %v, want %q in %q", i, v, want, err)
			}
		}
		if until := votes.Votes[1].Until; !until.Equal(s.nodes[1].opensAt()) ||
			!strings.Contains(err.Error(), "until "+until.Format(time.RFC3339)) {
			t.Errorf("grants again at %v, want %v, in %q", until, s.nodes[1].opensAt(), err)
		}
		if strings.Contains(err.Error(), "owner") {
			t.Errorf("the owner is in %q", err)
		}
		s.nodes[2].thaw()
		time.Sleep(2 * ttl)
	})
}

// What the votes come to, for a caller that tries and for one that would wait.
func TestVerdict(t *testing.T) {
	t.Parallel()
	permanent := Vote{Answer: Failed, Err: driver.Permanent(errors.New("no rights"))}
	vote := func(a ...Answer) (votes []Vote) {
		for _, a := range a {
			votes = append(votes, Vote{Answer: a})
		}
		return votes
	}
	const no, unavailable, unknown, hopeless = "no", "no effect", "unknown", "permanent"
	for _, c := range []struct {
		votes       []Vote
		tries, wait string
	}{
		{vote(Held, Held, Held), no, no},
		{vote(Held, Held, NoAnswer), no, no},
		{vote(Granted, Held, NoAnswer), no, no},
		{vote(Held, NoAnswer, NoAnswer), unknown, unknown},
		{vote(Granted, NoAnswer, NoAnswer), unknown, unknown},
		{vote(Held, Closed, NoAnswer), unavailable, no},
		{vote(Closed, Closed, Granted), unavailable, no},
		{vote(Closed, Closed, Failed), unavailable, no},
		{vote(Failed, Failed, Held), unknown, unknown},
		{append(vote(Held), permanent, permanent), hopeless, hopeless},
		{append(vote(Held, Held), permanent), no, no},
	} {
		for i, want := range []string{c.tries, c.wait} {
			e := New(Config{
				Nodes: []Node{newMemoryNode(), newMemoryNode(), newMemoryNode()}, Names: make([]string, 3)})
			got := unknown
			switch err, _ := e.verdict(c.votes, i == 1); {
			case errors.Is(err, driver.ErrHeld):
				got = no
			case driver.IsPermanent(err):
				got = hopeless
			case driver.HadNoEffect(err):
				got = unavailable
			}
			if got != want {
				t.Errorf("%v, waits: %v: %s, want %s", c.votes, i == 1, got, want)
			}
			e.Close()
		}
	}
}

func TestEvenNumberOfNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 4)
		e := s.client(steady)
		s.takeOn(0, request("other"))
		s.takeOn(1, request("other"))
		if _, err := e.Take(t.Context(), request("owner")); !errors.Is(err, driver.ErrHeld) {
			t.Errorf("two of four: %v, want ErrHeld", err)
		}
		s.releaseOn(0, "other")
		time.Sleep(time.Second)
		g := s.mustTake(e, "another")
		time.Sleep(time.Second)
		if s.freeNodes() != 0 {
			t.Error("three of four nodes have not granted the name")
		}
		s.nodes[3].crash(0, false)
		if err := s.renew(e, "another"); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("renewal by two of four: %v, want ErrNotHeld", err)
		}
		if err := e.Release(context.Background(),
			driver.Release{Hold: holdOf("another")}); !errors.Is(err, driver.ErrNotHeld) && err != nil {
			t.Errorf("release: %v", err)
		}
		s.releaseOn(1, "other")
		time.Sleep(time.Minute)
		if next := s.mustTake(e, "next"); next.Token <= g.Token {
			t.Errorf("token %d after %d", next.Token, g.Token)
		}
		s.mustRelease(e, "next")
		time.Sleep(time.Second)
	})
}
