package drivertest

import (
	"fmt"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

var votes = []check{
	{"VotesOfAFreeName", votesOfAFreeName},
	{"VotesShowTheHolder", votesShowTheHolder},
	{"VotesShowNoneWhoIsRefused", votesShowNoneWhoIsRefused},
	{"VotesShowNoOwner", votesShowNoOwner},
}

// voter opens an engine with nodes that vote.
func (e *env) voter() driver.Operator {
	e.Helper()
	return e.operator("nodes that vote", func(o driver.Operator) error {
		_, err := o.Votes(e.ctx, driver.Key{Kind: driver.Lock, Name: e.prefix})
		return err
	})
}

// votes asks for the vote of each node. All nodes must be well.
func (e *env) votes(v driver.Operator, k driver.Key) []driver.Vote {
	e.Helper()
	all, err := v.Votes(e.ctx, k)
	if err != nil || len(all) == 0 {
		e.Fatalf("Votes on %s %q: %d nodes, %v", k.Kind, k.Name, len(all), err)
	}
	nodes := map[string]bool{}
	for _, vote := range all {
		if vote.Node == "" || nodes[vote.Node] {
			e.Errorf("a node is called %q, which must be a name that no other node has", vote.Node)
		}
		nodes[vote.Node] = true
		if vote.Err != nil || vote.Closed != 0 {
			e.Errorf("node %s is closed for %v, %v; want one that votes", vote.Node, vote.Closed, vote.Err)
		}
	}
	return all
}

// checkNobodyHolds checks that no node has a holder.
func (e *env) checkNobodyHolds(all []driver.Vote) {
	e.Helper()
	for _, vote := range all {
		if len(vote.Holders) > 0 {
			e.Errorf("node %s has the holders %+v, want none", vote.Node, vote.Holders)
		}
	}
}

func votesOfAFreeName(e *env) {
	v, a := e.voter(), e.open()
	r := e.lock("name")
	e.checkNobodyHolds(e.votes(v, r.Key))
	e.take(a, r) // asking for votes has not blocked it
	e.release(a, r)
	e.eventually("no node has a holder", func() bool {
		for _, vote := range e.votes(v, r.Key) {
			if len(vote.Holders) > 0 {
				return false
			}
		}
		return true
	})
}

func votesShowTheHolder(e *env) {
	v, a := e.voter(), e.open()
	r := e.lock("name")
	r.Holder = "the text of the holder"
	g := e.take(a, r)
	first := e.votes(v, r.Key)
	same := 0
	for _, vote := range first {
		for _, h := range vote.Holders {
			if h.Token == g.Token && h.Holder == r.Holder && h.Mode == driver.Exclusive && h.Weight == 1 &&
				h.TTL > r.TTL/2 && h.TTL <= r.TTL {
				same++
			}
		}
	}
	if same <= len(first)/2 {
		e.Errorf("%d of %d nodes show the holder of token %d: %+v", same, len(first), g.Token, first)
	}
	e.checkNobodyHolds(e.votes(v, e.lock("other name").Key))
	again := e.votes(e.voter(), r.Key)
	for i := range again {
		if len(again) != len(first) || again[i].Node != first[i].Node {
			e.Fatalf("the nodes come in another order: %+v, then %+v", first, again)
		}
	}
	e.mustRenew(a, r, e.long)
}

func votesShowNoneWhoIsRefused(e *env) {
	v, a, b := e.voter(), e.open(), e.open()
	r, other := e.lock("name"), e.lock("name")
	other.Holder = "refused"
	e.take(a, r)
	e.mustBeRefused(b, other)
	e.eventually("no node shows a refused request", func() bool {
		for _, vote := range e.votes(v, r.Key) {
			for _, h := range vote.Holders {
				if h.Holder == other.Holder {
					return false
				}
			}
		}
		return true
	})
}

func votesShowNoOwner(e *env) {
	v, a, b := e.voter(), e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.lock("name"))
	for _, vote := range e.votes(v, r.Key) {
		text := fmt.Sprintf("%+v %#v", vote, vote)
		if strings.Contains(text, r.Owner) || strings.Contains(text, w.request.Owner) {
			e.Errorf("the vote of %s shows an owner", vote.Node)
		}
	}
}
