package drivertest

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
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
	driver.Raiser
}

// raiser opens an engine as a Raiser.
func (e *env) raiser() raiser {
	e.Helper()
	e.needs(e.can.Raise, "way to raise a token")
	r, ok := e.open().(raiser)
	if !ok {
		e.Fatal("the engine says that it can raise tokens, but is no driver.Raiser")
	}
	return r
}

func (e *env) raised(engine driver.Raiser, r driver.Request, token uint64, tokens int) {
	e.Helper()
	if err := engine.Raise(e.ctx, driver.Raise{Key: r.Key, Owner: r.Owner, Token: token, Tokens: tokens}); err != nil {
		e.Fatalf("Raise by the holder: %v", err)
	}
}

func (e *env) notRaised(engine driver.Raiser, r driver.Request, token uint64) {
	e.Helper()
	if err := engine.Raise(e.ctx, driver.Raise{Key: r.Key, Owner: r.Owner, Token: token, Tokens: 1}); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("Raise by one who does not hold: %v, want ErrNotHeld", err)
	}
}

// shown is the token that a listing shows for the holder.
func (e *env) shown(engine driver.Engine, r driver.Request) uint64 {
	e.Helper()
	page, err := engine.List(e.ctx, driver.Query{Kind: r.Kind, Name: r.Name})
	if err != nil || len(page) != 1 || len(page[0].Holders) != 1 {
		e.Fatalf("the listing of one holder: %+v, %v", page, err)
	}
	return page[0].Holders[0].Token
}

// far is a token beyond those that come from a clock, in this century.
const far = 1 << 52

func floorIsTheLeastToken(e *env) {
	a := e.raiser()
	r := e.lock("name")
	r.Floor, r.Tokens = far, 3
	g := e.take(a, r)
	if g.Token != far {
		e.Errorf("token %d with the floor %d", g.Token, r.Floor)
	}
	if shown := e.shown(a, r); shown != g.Token {
		e.Errorf("token %d is listed as %d", g.Token, shown)
	}
	e.release(a, r)
	o := order{env: e, last: g.Token + uint64(g.Tokens) - 1}
	next := e.lock("name")
	next.Floor = far + 1 // within the range of the first
	o.next(e.take(a, next))
}

func floorBelowIsNoMatter(e *env) {
	a := e.raiser()
	o := order{env: e}
	for _, floor := range []uint64{far, 1, far / 2, far} {
		r := e.lock("name")
		r.Floor = floor
		o.next(e.take(a, r))
		e.release(a, r)
	}
}

func raisedTokenIsThatOfTheGrant(e *env) {
	a := e.raiser()
	r := e.lock("name")
	r.Floor, r.Tokens = 10, 2
	g := e.take(a, r)
	e.raised(a, r, g.Token+far, 2)
	if again := e.take(a, r); again.Token != g.Token+far || again.Tokens > 2 {
		e.Errorf("raised to %d+2, but Take answers %d+%d", g.Token+far, again.Token, again.Tokens)
	}
	if shown := e.shown(a, r); shown != g.Token+far {
		e.Errorf("raised to %d, but listed as %d", g.Token+far, shown)
	}
	e.renewed(a, r, e.long)
	e.release(a, r)
}

func raiseGoesOnFromThere(e *env) {
	a := e.raiser()
	r := e.lock("name")
	g := e.take(a, r)
	e.raised(a, r, g.Token+far/2, 5)
	e.release(a, r)
	o := order{env: e, last: g.Token + far/2 + 4}
	o.next(e.take(a, e.lock("name")))
}

func raiseNeverLowers(e *env) {
	a := e.raiser()
	r := e.lock("name")
	r.Floor, r.Tokens = far, 4
	g := e.take(a, r)
	e.notRaised(a, r, g.Token-1)
	e.notRaised(a, r, 1)
	if again := e.take(a, r); again.Token != g.Token {
		e.Errorf("token %d became %d", g.Token, again.Token)
	}
	e.release(a, r)
	o := order{env: e, last: g.Token + uint64(g.Tokens) - 1}
	next := e.lock("name")
	next.Floor = 1
	o.next(e.take(a, next))
}

func raiseToTheSame(e *env) {
	a := e.raiser()
	r := e.lock("name")
	r.Floor = far
	g := e.take(a, r)
	e.raised(a, r, g.Token, 4)
	r.Tokens = 4
	if again := e.take(a, r); again.Token != g.Token {
		e.Errorf("token %d became %d", g.Token, again.Token)
	}
	e.release(a, r)
	o := order{env: e, last: g.Token + 3}
	next := e.lock("name")
	next.Floor = 1
	o.next(e.take(a, next))
}

func raiseBesideAQueue(e *env) {
	a := e.raiser()
	b := e.open()
	r := e.lock("name")
	g := e.take(a, r)
	w := e.join(b, e.lock("name"))
	e.raised(a, r, g.Token+far/2, 1)
	e.renewed(a, r, e.long)
	e.release(a, r)
	o := order{env: e, last: g.Token + far/2}
	o.next(w.granted())
}

func onlyTheHolderRaises(e *env) {
	a := e.raiser()
	r, other := e.lock("name"), e.lock("name")
	e.notRaised(a, r, far)
	g := e.take(a, r)
	e.notRaised(a, other, far)
	w := e.join(e.open(), other)
	e.notRaised(a, other, far)
	e.release(a, r)
	next := w.granted()
	e.notRaised(a, r, far)
	if next.Token <= g.Token || next.Token >= far {
		e.Errorf("token %d follows %d: somebody who did not hold has raised it", next.Token, g.Token)
	}
	if shown := e.shown(a, other); shown != next.Token {
		e.Errorf("token %d is listed as %d: somebody who did not hold has raised it", next.Token, shown)
	}
}
