package drivertest

import "github.com/leasehold-go/leasehold/driver"

var permits = []check{
	{"NoMoreThanTheSize", noMoreThanTheSize},
	{"PermitsComeBack", permitsComeBack},
	{"PermitsExpire", permitsExpire},
	{"TakeAgainCountsOnce", takeAgainCountsOnce},
	{"BigWaiterIsNotBypassed", bigWaiterIsNotBypassed},
	{"OneReleaseLetsManyIn", oneReleaseLetsManyIn},
	{"CancelledBigWaiter", cancelledBigWaiter},
	{"TokensOfPermitsGrow", tokensOfPermitsGrow},
}

func (e *env) needsSemaphores() {
	e.Helper()
	e.needs(e.can.Semaphores, "semaphores")
}

func noMoreThanTheSize(e *env) {
	e.needsSemaphores()
	a, b := e.open(), e.open()
	e.take(a, e.permits("name", 5, 2))
	e.take(b, e.permits("name", 5, 2))
	e.mustBeRefused(a, e.permits("name", 5, 2))
	e.take(b, e.permits("name", 5, 1))
	e.mustBeRefused(b, e.permits("name", 5, 1))
	e.take(a, e.permits("other name", 5, 5))
}

func permitsComeBack(e *env) {
	e.needsSemaphores()
	a, b := e.open(), e.open()
	small, big := e.permits("name", 4, 1), e.permits("name", 4, 3)
	e.take(a, small)
	e.take(b, big)
	e.release(b, big)
	e.mustBeRefused(b, e.permits("name", 4, 4))
	e.take(b, e.permits("name", 4, 3))
	e.release(a, small)
	e.take(a, e.permits("name", 4, 1))
	e.checkNotHeld(a, small)
	e.mustBeRefused(a, e.permits("name", 4, 1))
}

func permitsExpire(e *env) {
	e.needsSemaphores()
	a, b := e.open(), e.open()
	short := e.withShortTTL(e.permits("name", 3, 2))
	e.take(b, e.permits("name", 3, 1))
	e.take(a, short)
	w := e.join(b, e.permits("name", 3, 2))
	e.expireShortLeases()
	w.mustBeGranted()
	e.checkLost(a, short)
	e.checkNotHeld(a, short)
	e.mustBeRefused(a, e.permits("name", 3, 1))
}

func takeAgainCountsOnce(e *env) {
	e.needsSemaphores()
	a, b := e.open(), e.open()
	r := e.permits("name", 4, 2)
	g := e.take(a, r)
	if again := e.take(a, r); again.Token != g.Token {
		e.Errorf("Take repeated answers token %d, want %d", again.Token, g.Token)
	}
	rest := e.permits("name", 4, 2)
	e.take(b, rest)
	e.release(a, r)
	e.release(b, rest)
	e.checkFree(b, e.permits("name", 4, 4))
}

func bigWaiterIsNotBypassed(e *env) {
	e.needsSemaphores()
	e.needs(e.can.Fair, "order among waiters")
	a, b, c := e.open(), e.open(), e.open()
	first, second := e.permits("name", 3, 1), e.permits("name", 3, 1)
	e.take(a, first)
	e.take(a, second)
	big := e.join(b, e.permits("name", 3, 3))
	small := e.join(c, e.permits("name", 3, 1)) // which would fit
	e.mustBeRefused(a, e.permits("name", 3, 1))
	e.release(a, first)
	e.mustBeRefused(a, e.permits("name", 3, 1))
	big.checkWaiting()
	small.checkWaiting()
	e.release(a, second)
	big.mustBeGranted()
	small.checkWaiting()
	e.release(b, big.request)
	small.mustBeGranted()
}

func oneReleaseLetsManyIn(e *env) {
	e.needsSemaphores()
	a, b := e.open(), e.open()
	all := e.permits("name", 4, 4)
	e.take(a, all)
	waiters := []*waiter{
		e.join(b, e.permits("name", 4, 1)),
		e.join(a, e.permits("name", 4, 2)),
		e.join(b, e.permits("name", 4, 1)),
	}
	e.release(a, all)
	for _, w := range waiters {
		w.mustBeGranted()
	}
	e.mustBeRefused(a, e.permits("name", 4, 1))
}

func cancelledBigWaiter(e *env) {
	e.needsSemaphores()
	a, b, c := e.open(), e.open(), e.open()
	e.take(a, e.permits("name", 3, 2))
	big := e.join(b, e.permits("name", 3, 3))
	small := e.wait(c, e.permits("name", 3, 1))
	big.leave()
	small.mustBeGranted()
	e.mustBeRefused(a, e.permits("name", 3, 1))
}

func tokensOfPermitsGrow(e *env) {
	e.needsSemaphores()
	engines := []driver.Engine{e.open(), e.open()}
	o := tokenOrder{env: e}
	for i := range 6 {
		r := e.permits("name", 10, 1)
		r.Tokens = 1 + i
		o.check(e.take(engines[i%2], r))
	}
}
