package drivertest

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

var raise = []check{
	{"FloorIsTheLeastToken", floorIsTheLeastToken},
	{"FloorBelowIsNoMatter", floorBelowIsNoMatter},
	{"RaisedTokenIsThatOfTheGrant", raisedTokenIsThatOfTheGrant},
	{"RaiseGoesOnFromThere", raiseGoesOnFromThere},
	{"RaiseNeverLowers", raiseNeverLowers},
	{"RaiseToTheSame", raiseToTheSame},
	{"RaiseBesideAQueue", raiseBesideAQueue},
	{"OnlyTheHolderRaises", onlyTheHolderRaises},
}

// raiser is an engine that can raise tokens.
type raiser interface {
	driver.Engine
	quorumnode.Node
}

// raiser opens an engine as a node.
func (e *env) raiser() raiser {
	e.Helper()
	r, ok := e.open().(raiser)
	e.needs(ok, "way to raise a token")
	return r
}

func (e *env) mustRaise(engine quorumnode.Node, r driver.Request, token uint64, tokens int) {
	e.Helper()
	err := engine.Raise(e.ctx, quorumnode.Raise{Key: r.Key, Owner: r.Owner, Token: token, Tokens: tokens})
	if err != nil {
		e.Fatalf("Raise by the holder: %v", err)
	}
}

func (e *env) mustNotRaise(engine quorumnode.Node, r driver.Request, token uint64) {
	e.Helper()
	err := engine.Raise(e.ctx, quorumnode.Raise{Key: r.Key, Owner: r.Owner, Token: token, Tokens: 1})
	if !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("Raise by an owner that does not hold: %v, want ErrNotHeld", err)
	}
}

// takeFrom takes a free name with a floor for the token.
func (e *env) takeFrom(engine quorumnode.Node, r driver.Request, floor uint64) driver.Grant {
	e.Helper()
	g, err := engine.TakeFrom(e.ctx, quorumnode.Request{Request: r, Floor: floor})
	if err != nil {
		e.Fatalf("TakeFrom of a free name: %v", err)
	}
	return g
}

// listedToken returns the token that a listing shows for the holder.
func (e *env) listedToken(engine driver.Engine, r driver.Request) uint64 {
	e.Helper()
	page, err := engine.List(e.ctx, driver.Query{Kind: r.Kind, Name: r.Name})
	if err != nil || len(page) != 1 || len(page[0].Holders) != 1 {
		e.Fatalf("the listing of one holder: %+v, %v", page, err)
	}
	return page[0].Holders[0].Token
}

// farToken is larger than any token that comes from a clock in this century.
const farToken = 1 << 52

func floorIsTheLeastToken(e *env) {
	a := e.raiser()
	r := e.lock("name")
	r.Tokens = 3
	g := e.takeFrom(a, r, farToken)
	if g.Token != farToken {
		e.Errorf("token %d with the floor %d", g.Token, uint64(farToken))
	}
	if shown := e.listedToken(a, r); shown != g.Token {
		e.Errorf("token %d is listed as %d", g.Token, shown)
	}
	e.release(a, r)
	o := tokenOrder{env: e, last: g.Token + uint64(g.Tokens) - 1}
	o.check(e.takeFrom(a, e.lock("name"), farToken+1)) // within the range of the first
}

func floorBelowIsNoMatter(e *env) {
	a := e.raiser()
	o := tokenOrder{env: e}
	for _, floor := range []uint64{farToken, 1, farToken / 2, farToken} {
		r := e.lock("name")
		o.check(e.takeFrom(a, r, floor))
		e.release(a, r)
	}
}

func raisedTokenIsThatOfTheGrant(e *env) {
	a := e.raiser()
	r := e.lock("name")
	r.Tokens = 2
	g := e.takeFrom(a, r, 10)
	e.mustRaise(a, r, g.Token+farToken, 2)
	if again := e.take(a, r); again.Token != g.Token+farToken || again.Tokens > 2 {
		e.Errorf("raised to %d+2, but Take answers %d+%d", g.Token+farToken, again.Token, again.Tokens)
	}
	if shown := e.listedToken(a, r); shown != g.Token+farToken {
		e.Errorf("raised to %d, but listed as %d", g.Token+farToken, shown)
	}
	e.mustRenew(a, r, e.long)
	e.release(a, r)
}

func raiseGoesOnFromThere(e *env) {
	a := e.raiser()
	r := e.lock("name")
	g := e.take(a, r)
	e.mustRaise(a, r, g.Token+farToken/2, 5)
	e.release(a, r)
	o := tokenOrder{env: e, last: g.Token + farToken/2 + 4}
	o.check(e.take(a, e.lock("name")))
}

func raiseNeverLowers(e *env) {
	a := e.raiser()
	r := e.lock("name")
	r.Tokens = 4
	g := e.takeFrom(a, r, farToken)
	e.mustNotRaise(a, r, g.Token-1)
	e.mustNotRaise(a, r, 1)
	if again := e.take(a, r); again.Token != g.Token {
		e.Errorf("token %d became %d", g.Token, again.Token)
	}
	e.release(a, r)
	o := tokenOrder{env: e, last: g.Token + uint64(g.Tokens) - 1}
	o.check(e.takeFrom(a, e.lock("name"), 1))
}

func raiseToTheSame(e *env) {
	a := e.raiser()
	r := e.lock("name")
	g := e.takeFrom(a, r, farToken)
	e.mustRaise(a, r, g.Token, 4)
	r.Tokens = 4
	if again := e.take(a, r); again.Token != g.Token {
		e.Errorf("token %d became %d", g.Token, again.Token)
	}
	e.release(a, r)
	o := tokenOrder{env: e, last: g.Token + 3}
	o.check(e.takeFrom(a, e.lock("name"), 1))
}

func raiseBesideAQueue(e *env) {
	a := e.raiser()
	b := e.open()
	r := e.lock("name")
	g := e.take(a, r)
	w := e.join(b, e.lock("name"))
	e.mustRaise(a, r, g.Token+farToken/2, 1)
	e.mustRenew(a, r, e.long)
	e.release(a, r)
	o := tokenOrder{env: e, last: g.Token + farToken/2}
	o.check(w.mustBeGranted())
}

func onlyTheHolderRaises(e *env) {
	a := e.raiser()
	r, other := e.lock("name"), e.lock("name")
	e.mustNotRaise(a, r, farToken)
	g := e.take(a, r)
	e.mustNotRaise(a, other, farToken)
	w := e.join(e.open(), other)
	e.mustNotRaise(a, other, farToken)
	e.release(a, r)
	next := w.mustBeGranted()
	e.mustNotRaise(a, r, farToken)
	if next.Token <= g.Token || next.Token >= farToken {
		e.Errorf("token %d follows %d: somebody who did not hold has raised it", next.Token, g.Token)
	}
	if shown := e.listedToken(a, other); shown != next.Token {
		e.Errorf("token %d is listed as %d: somebody who did not hold has raised it", next.Token, shown)
	}
}
