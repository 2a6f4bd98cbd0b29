package drivertest

import (
	"errors"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

var all = []check{
	{"TakenInOneStep", takenInOneStep},
	{"AllOrNothing", allOrNothing},
	{"ReadersKeepAllOut", readersKeepAllOut},
	{"AgainAnswersTheSame", allAgainAnswersTheSame},
	{"AgainExtends", allAgainExtends},
	{"AgainAfterOneIsLost", allAgainAfterOneIsLost},
	{"NamesHeldAlreadyStay", namesHeldAlreadyStay},
	{"LeasesEnd", leasesOfAllEnd},
	{"WaitersAreServed", waitersBehindAllAreServed},
	{"NobodyIsOvertaken", nobodyIsOvertaken},
	{"TokensGrow", tokensOfAllGrow},
	{"EndedContext", allWithAnEndedContext},
	{"LostReplyIsUndone", allWithoutReplyIsUndone},
	{"LostReplyIsRepeated", allWithoutReplyIsRepeated},
	{"LateArrivalIsUndone", allThatComesLate},
}

// taker opens an engine that takes several locks in one step.
func (e *env) taker() interface {
	driver.Engine
	driver.AllTaker
} {
	e.Helper()
	e.needs(e.can.All, "way to take several locks in one step")
	return e.open().(interface {
		driver.Engine
		driver.AllTaker
	})
}

// some asks for several locks, by a new owner each. Engines that spread names over servers keep names together that have the
// same text in braces.
func (e *env) some(names ...string) []driver.Request {
	slices.Sort(names)
	var batch []driver.Request
	for _, name := range names {
		batch = append(batch, e.lock("{together}"+name))
	}
	return batch
}

// anew is the same request by another owner.
func (e *env) anew(r driver.Request) driver.Request {
	r.Owner = e.lock("").Owner
	return r
}

// takeAll takes what must be free, or belong to the owners already.
func (e *env) takeAll(engine driver.AllTaker, batch []driver.Request) []driver.Grant {
	e.Helper()
	grants, err := engine.TakeAll(e.ctx, batch)
	if err != nil {
		e.Fatalf("TakeAll of free locks: %v", err)
	}
	if len(grants) != len(batch) {
		e.Fatalf("%d grants for %d locks", len(grants), len(batch))
	}
	for i, g := range grants {
		e.checkGrant(batch[i], g)
	}
	return grants
}

// refusedAll asks for locks of which one must not be had.
func (e *env) refusedAll(engine driver.AllTaker, batch []driver.Request) {
	e.Helper()
	if grants, err := engine.TakeAll(e.ctx, batch); !errors.Is(err, driver.ErrHeld) {
		e.Fatalf("TakeAll answered %v, %v although one name is not free; want ErrHeld", grants, err)
	}
}

func takenInOneStep(e *env) {
	a, b := e.taker(), e.open()
	batch := e.some("a", "b", "c")
	e.takeAll(a, batch)
	for _, r := range batch {
		e.refused(b, e.anew(r))
		e.renewed(b, r, e.long)
	}
	for _, r := range batch {
		e.release(b, r)
		e.free(a, r)
	}
	e.unlisted(a)
}

func allOrNothing(e *env) {
	a, b := e.taker(), e.open()
	for i := range 3 {
		batch := e.some("a", "b", "c")
		held := e.anew(batch[i])
		e.take(b, held)
		e.refusedAll(a, batch)
		e.refusedAll(a, batch) // asking does not wear it down
		e.renewed(b, held, e.long)
		e.release(b, held)
		for _, r := range batch {
			e.forgotten(a, r)
			e.free(b, r)
		}
	}
}

func readersKeepAllOut(e *env) {
	e.needsShared()
	a := e.taker()
	batch := e.some("a", "b")
	reader := e.anew(batch[1])
	reader.Mode = driver.Shared
	e.take(a, reader)
	e.refusedAll(a, batch)
	e.free(a, batch[0])
	e.release(a, reader)
	e.takeAll(a, batch)
	e.refused(a, e.anew(reader))
}

func allAgainAnswersTheSame(e *env) {
	a, b := e.taker(), e.taker()
	batch := e.some("a", "b")
	batch[1].Tokens = 4
	first := e.takeAll(a, batch)
	again := e.takeAll(b, batch)
	for i, g := range again {
		if g.Token != first[i].Token || max(1, g.Tokens) != max(1, first[i].Tokens) {
			e.Errorf("the second TakeAll answered tokens %d+%d, want those of the first, %d+%d", g.Token, g.Tokens, first[i].Token, first[i].Tokens)
		}
	}
	for _, r := range batch {
		e.refused(b, e.anew(r))
		e.release(a, r) // once, however often it was taken
		e.free(b, r)
	}
}

func allAgainExtends(e *env) {
	a, b := e.taker(), e.open()
	batch := e.some("a", "b")
	e.takeAll(a, []driver.Request{e.briefly(batch[0]), e.briefly(batch[1])})
	e.takeAll(a, batch)
	e.lapse()
	for _, r := range batch {
		e.refused(b, e.anew(r))
	}
	e.takeAll(a, []driver.Request{e.briefly(batch[0]), e.briefly(batch[1])}) // which does not shorten the leases
	e.lapse()
	for _, r := range batch {
		e.renewed(b, r, e.long)
	}
}

func allAgainAfterOneIsLost(e *env) {
	a, b := e.taker(), e.open()
	batch := e.some("a", "b", "c")
	e.takeAll(a, batch)
	e.release(b, batch[1])
	next := e.anew(batch[1])
	e.take(b, next)
	e.refusedAll(a, batch)
	for _, r := range []driver.Request{batch[0], next, batch[2]} {
		e.renewed(b, r, e.long) // nobody has lost anything by the refusal
	}
}

func namesHeldAlreadyStay(e *env) {
	a, b := e.taker(), e.open()
	batch := e.some("a", "b")
	first := e.take(b, batch[0])
	if both := e.takeAll(a, batch); both[0].Token != first.Token {
		e.Errorf("TakeAll answered token %d to an owner that holds with token %d", both[0].Token, first.Token)
	}
	e.refused(b, e.anew(batch[1]))
}

func leasesOfAllEnd(e *env) {
	a, b := e.taker(), e.open()
	batch := e.some("a", "b")
	batch[0] = e.briefly(batch[0])
	e.takeAll(a, batch)
	e.lapse()
	e.lost(a, batch[0])
	e.free(b, batch[0])
	e.renewed(a, batch[1], e.long) // each has a lease of its own
}

func waitersBehindAllAreServed(e *env) {
	a, b := e.taker(), e.open()
	batch := e.some("a", "b")
	grants := e.takeAll(a, batch)
	for i, r := range batch {
		w := e.join(b, e.anew(r))
		w.waits()
		e.release(a, r)
		if g := w.granted(); g.Token <= grants[i].Token {
			e.Errorf("token %d follows %d", g.Token, grants[i].Token)
		}
	}
}

func nobodyIsOvertaken(e *env) {
	e.needs(e.can.Fair, "order among waiters")
	a, b := e.taker(), e.open()
	for range 5 {
		batch := e.some("a", "b")
		held := e.anew(batch[1])
		e.take(b, held)
		w := e.join(b, e.anew(held))
		e.release(b, held)
		e.refusedAll(a, batch)
		w.granted()
		e.release(b, w.request)
	}
	e.takeAll(a, e.some("a", "b"))
}

func tokensOfAllGrow(e *env) {
	a, b := e.taker(), e.open()
	names := []string{"a", "b", "c"}
	var orders []*order
	for range names {
		orders = append(orders, &order{env: e})
	}
	for round := range 5 {
		batch := e.some(names...)
		for i := range batch {
			batch[i].Tokens = 1 + (round+i)%3
		}
		for i, g := range e.takeAll(a, batch) {
			orders[i].next(g)
			e.release(a, batch[i])
			r := e.anew(batch[i])
			orders[i].next(e.take(b, r))
			e.release(b, r)
		}
	}
}
