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
	engine, ok := e.open().(interface {
		driver.Engine
		driver.AllTaker
	})
	e.needs(ok, "way to take several locks in one step")
	return engine
}

// locks returns requests for several locks, each by a new owner. Engines that spread names over
// servers keep names together that have the same text in braces.
func (e *env) locks(names ...string) []driver.Request {
	slices.Sort(names)
	var batch []driver.Request
	for _, name := range names {
		batch = append(batch, e.lock("{together}"+name))
	}
	return batch
}

// byNewOwner returns the same request by another owner.
func (e *env) byNewOwner(r driver.Request) driver.Request {
	r.Owner = e.lock("").Owner
	return r
}

// takeAll takes locks that must be free, or belong to the owners already.
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

// mustRefuseAll asks for locks of which one must not be granted.
func (e *env) mustRefuseAll(engine driver.AllTaker, batch []driver.Request) {
	e.Helper()
	if grants, err := engine.TakeAll(e.ctx, batch); !errors.Is(err, driver.ErrHeld) {
		e.Fatalf("TakeAll answered %v, %v although one name is held; want ErrHeld", grants, err)
	}
}

func takenInOneStep(e *env) {
	a, b := e.taker(), e.open()
	batch := e.locks("a", "b", "c")
	e.takeAll(a, batch)
	for _, r := range batch {
		e.mustBeRefused(b, e.byNewOwner(r))
		e.mustRenew(b, r, e.long)
	}
	for _, r := range batch {
		e.release(b, r)
		e.checkFree(a, r)
	}
	e.checkNothingListed(a)
}

func allOrNothing(e *env) {
	a, b := e.taker(), e.open()
	for i := range 3 {
		batch := e.locks("a", "b", "c")
		held := e.byNewOwner(batch[i])
		e.take(b, held)
		e.mustRefuseAll(a, batch)
		e.mustRefuseAll(a, batch) // a repeated request changes nothing
		e.mustRenew(b, held, e.long)
		e.release(b, held)
		for _, r := range batch {
			e.checkNotHeld(a, r)
			e.checkFree(b, r)
		}
	}
}

func readersKeepAllOut(e *env) {
	e.needsShared()
	a := e.taker()
	batch := e.locks("a", "b")
	reader := e.byNewOwner(batch[1])
	reader.Mode = driver.Shared
	e.take(a, reader)
	e.mustRefuseAll(a, batch)
	e.checkFree(a, batch[0])
	e.release(a, reader)
	e.takeAll(a, batch)
	e.mustBeRefused(a, e.byNewOwner(reader))
}

func allAgainAnswersTheSame(e *env) {
	a, b := e.taker(), e.taker()
	batch := e.locks("a", "b")
	batch[1].Tokens = 4
	first := e.takeAll(a, batch)
	again := e.takeAll(b, batch)
	for i, g := range again {
		if g.Token != first[i].Token || max(1, g.Tokens) != max(1, first[i].Tokens) {
			e.Errorf("the second TakeAll answered tokens %d+%d, want those of the first, %d+%d", g.Token, g.Tokens,
				first[i].Token, first[i].Tokens)
		}
	}
	for _, r := range batch {
		e.mustBeRefused(b, e.byNewOwner(r))
		e.release(a, r) // one release is enough, however often it was taken
		e.checkFree(b, r)
	}
}

func allAgainExtends(e *env) {
	a, b := e.taker(), e.open()
	batch := e.locks("a", "b")
	e.takeAll(a, []driver.Request{e.withShortTTL(batch[0]), e.withShortTTL(batch[1])})
	e.takeAll(a, batch)
	e.expireShortLeases()
	for _, r := range batch {
		e.mustBeRefused(b, e.byNewOwner(r))
	}
	e.takeAll(a, []driver.Request{e.withShortTTL(batch[0]), e.withShortTTL(batch[1])}) // does not shorten the leases
	e.expireShortLeases()
	for _, r := range batch {
		e.mustRenew(b, r, e.long)
	}
}

func allAgainAfterOneIsLost(e *env) {
	a, b := e.taker(), e.open()
	batch := e.locks("a", "b", "c")
	e.takeAll(a, batch)
	e.release(b, batch[1])
	next := e.byNewOwner(batch[1])
	e.take(b, next)
	e.mustRefuseAll(a, batch)
	for _, r := range []driver.Request{batch[0], next, batch[2]} {
		e.mustRenew(b, r, e.long) // the refusal has cost nobody a lease
	}
}

func namesHeldAlreadyStay(e *env) {
	a, b := e.taker(), e.open()
	batch := e.locks("a", "b")
	first := e.take(b, batch[0])
	if both := e.takeAll(a, batch); both[0].Token != first.Token {
		e.Errorf("TakeAll answered token %d to an owner that holds with token %d", both[0].Token, first.Token)
	}
	e.mustBeRefused(b, e.byNewOwner(batch[1]))
}

func leasesOfAllEnd(e *env) {
	a, b := e.taker(), e.open()
	batch := e.locks("a", "b")
	batch[0] = e.withShortTTL(batch[0])
	e.takeAll(a, batch)
	e.expireShortLeases()
	e.checkLost(a, batch[0])
	e.checkFree(b, batch[0])
	e.mustRenew(a, batch[1], e.long) // each lock has its own lease
}

func waitersBehindAllAreServed(e *env) {
	a, b := e.taker(), e.open()
	batch := e.locks("a", "b")
	grants := e.takeAll(a, batch)
	for i, r := range batch {
		w := e.join(b, e.byNewOwner(r))
		w.checkWaiting()
		e.release(a, r)
		if g := w.mustBeGranted(); g.Token <= grants[i].Token {
			e.Errorf("token %d follows %d", g.Token, grants[i].Token)
		}
	}
}

func nobodyIsOvertaken(e *env) {
	e.needs(e.can.Fair, "order among waiters")
	a, b := e.taker(), e.open()
	for range 5 {
		batch := e.locks("a", "b")
		held := e.byNewOwner(batch[1])
		e.take(b, held)
		w := e.join(b, e.byNewOwner(held))
		e.release(b, held)
		e.mustRefuseAll(a, batch)
		w.mustBeGranted()
		e.release(b, w.request)
	}
	e.takeAll(a, e.locks("a", "b"))
}

func tokensOfAllGrow(e *env) {
	a, b := e.taker(), e.open()
	names := []string{"a", "b", "c"}
	var orders []*tokenOrder
	for range names {
		orders = append(orders, &tokenOrder{env: e})
	}
	for round := range 5 {
		batch := e.locks(names...)
		for i := range batch {
			batch[i].Tokens = 1 + (round+i)%3
		}
		for i, g := range e.takeAll(a, batch) {
			orders[i].check(g)
			e.release(a, batch[i])
			r := e.byNewOwner(batch[i])
			orders[i].check(e.take(b, r))
			e.release(b, r)
		}
	}
}
