package drivertest

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

var shared = []check{
	{"ReadersTogether", readersTogether},
	{"ReaderExcludesWriter", readerExcludesWriter},
	{"WriterExcludesReader", writerExcludesReader},
	{"ReadersLeaveOneByOne", readersLeaveOneByOne},
	{"ExpiredReaderLeavesTheOthers", expiredReaderLeavesTheOthers},
	{"WaitingWriterIsNotOvertaken", waitingWriterIsNotOvertaken},
	{"WaitingReadersComeTogether", waitingReadersComeTogether},
	{"CancelledWriterLetsReadersIn", cancelledWriterLetsReadersIn},
	{"DowngradeLetsReadersIn", downgradeLetsReadersIn},
	{"DowngradeKeepsTokenAndLease", downgradeKeepsTokenAndLease},
	{"DowngradeOfOthers", downgradeOfOthers},
	{"TokensOfReadersGrow", tokensOfReadersGrow},
}

func (e *env) needsShared() {
	e.Helper()
	e.needs(e.can.Shared, "shared mode")
}

// mustDowngrade turns a hold into a shared one.
func (e *env) mustDowngrade(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := engine.Downgrade(e.ctx, holdOf(r)); err != nil {
		e.Fatalf("Downgrade by the holder: %v", err)
	}
}

func readersTogether(e *env) {
	e.needsShared()
	a, b := e.open(), e.open()
	for range 3 {
		e.take(a, e.reader("name"))
		e.take(b, e.reader("name"))
	}
	e.mustBeRefused(b, e.lock("name"))
}

func readerExcludesWriter(e *env) {
	e.needsShared()
	a, b := e.open(), e.open()
	r := e.reader("name")
	e.take(a, r)
	e.mustBeRefused(b, e.lock("name"))
	e.release(a, r)
	e.take(b, e.lock("name"))
}

func writerExcludesReader(e *env) {
	e.needsShared()
	a, b := e.open(), e.open()
	w := e.lock("name")
	e.take(a, w)
	e.mustBeRefused(b, e.reader("name"))
	e.release(a, w)
	e.take(b, e.reader("name"))
}

func readersLeaveOneByOne(e *env) {
	e.needsShared()
	a, b := e.open(), e.open()
	first, second := e.reader("name"), e.reader("name")
	e.take(a, first)
	e.take(b, second)
	w := e.join(a, e.lock("name"))
	e.release(a, first)
	e.checkLost(a, first)
	e.checkNotHeld(a, first)
	e.mustRenew(b, second, e.long)
	w.checkWaiting()
	e.release(b, second)
	w.mustBeGranted()
	e.mustBeRefused(b, e.reader("name"))
}

func expiredReaderLeavesTheOthers(e *env) {
	e.needsShared()
	a, b := e.open(), e.open()
	first, second := e.withShortTTL(e.reader("name")), e.reader("name")
	e.take(a, first)
	e.take(b, second)
	e.expireShortLeases()
	e.checkLost(a, first)
	e.mustRenew(b, second, e.long)
	e.mustBeRefused(a, e.lock("name"))
	e.release(b, second)
	e.take(a, e.lock("name"))
}

func waitingWriterIsNotOvertaken(e *env) {
	e.needsShared()
	e.needs(e.can.Fair, "order among waiters")
	a, b, c := e.open(), e.open(), e.open()
	r := e.reader("name")
	e.take(a, r)
	writer := e.join(b, e.lock("name"))
	e.mustBeRefused(c, e.reader("name"))
	reader := e.join(c, e.reader("name"))
	e.take(a, r) // a reader that holds is not a newcomer
	writer.checkWaiting()
	reader.checkWaiting()
	e.release(a, r)
	g := writer.mustBeGranted()
	reader.checkWaiting()
	e.release(b, writer.request)
	if next := reader.mustBeGranted(); next.Token <= g.Token {
		e.Errorf("token %d follows %d", next.Token, g.Token)
	}
}

func waitingReadersComeTogether(e *env) {
	e.needsShared()
	e.needs(e.can.Fair, "order among waiters")
	a, b := e.open(), e.open()
	w := e.lock("name")
	e.take(a, w)
	readers := []*waiter{e.join(b, e.reader("name")), e.join(a, e.reader("name")), e.join(b, e.reader("name"))}
	writer := e.join(a, e.lock("name"))
	last := e.join(b, e.reader("name"))
	e.release(a, w)
	for _, r := range readers {
		r.mustBeGranted() // although none of the others has released
	}
	writer.checkWaiting()
	last.checkWaiting()
	for _, r := range readers {
		e.release(r.engine, r.request)
	}
	writer.mustBeGranted()
	last.checkWaiting()
	e.release(a, writer.request)
	last.mustBeGranted()
}

func cancelledWriterLetsReadersIn(e *env) {
	e.needsShared()
	a, b, c := e.open(), e.open(), e.open()
	e.take(a, e.reader("name"))
	writer := e.join(b, e.lock("name"))
	var reader *waiter
	if e.can.Fair {
		reader = e.join(c, e.reader("name"))
	} else {
		reader = e.wait(c, e.reader("name"))
	}
	writer.leave()
	reader.mustBeGranted()
}

func downgradeLetsReadersIn(e *env) {
	e.needsShared()
	a, b, c := e.open(), e.open(), e.open()
	w := e.lock("name")
	e.take(a, w)
	first, second := e.join(b, e.reader("name")), e.join(c, e.reader("name"))
	e.mustDowngrade(a, w)
	first.mustBeGranted()
	second.mustBeGranted()
	e.mustBeRefused(b, e.lock("name"))
	e.mustRenew(a, w, e.long)
	e.release(a, w)
	e.mustBeRefused(a, e.lock("name"))
}

func downgradeKeepsTokenAndLease(e *env) {
	e.needsShared()
	a, b := e.open(), e.open()
	w := e.lock("name")
	g := e.take(a, w)
	e.mustDowngrade(a, w)
	e.mustDowngrade(a, w) // it is shared already
	w.Mode = driver.Shared
	if again := e.take(a, w); again.Token != g.Token {
		e.Errorf("token %d after Downgrade, %d before", again.Token, g.Token)
	}
	e.expireShortLeases()
	e.mustRenew(a, w, e.long)
	e.release(a, w)
	e.checkFree(b, e.lock("name"))

	w = e.withShortTTL(e.lock("short"))
	e.take(a, w)
	e.mustDowngrade(a, w)
	e.expireShortLeases()
	e.take(b, e.lock("short"))
}

func downgradeOfOthers(e *env) {
	e.needsShared()
	a, b := e.open(), e.open()
	w := e.lock("name")
	e.take(a, w)
	waiting := e.join(b, e.lock("name"))
	for what, r := range map[string]driver.Request{
		"a stranger":           e.lock("name"),
		"one who waits":        waiting.request,
		"the owner of nothing": e.lock("free"),
	} {
		if err := b.Downgrade(e.ctx, holdOf(r)); !errors.Is(err, driver.ErrNotHeld) {
			e.Errorf("Downgrade by %s: %v, want ErrNotHeld", what, err)
		}
	}
	e.mustBeRefused(b, e.reader("name"))
}

func tokensOfReadersGrow(e *env) {
	e.needsShared()
	engines := []driver.Engine{e.open(), e.open()}
	o := tokenOrder{env: e}
	var readers []driver.Request
	for i := range 6 {
		r := e.reader("name")
		o.check(e.take(engines[i%2], r))
		readers = append(readers, r)
	}
	for i, r := range readers {
		e.release(engines[i%2], r)
	}
	o.check(e.take(engines[0], e.lock("name")))
}
