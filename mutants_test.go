package leasehold_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// mutant is the library with a fault planted in it: a mistake that somebody has made in a lock library before, or
// might make in this one.
type mutant struct {
	name  string
	edits []edit
	test  string // which must fail; "" is TestSchedules
}

type edit struct{ file, from, to string }

var mutants = []mutant{
	{name: "no allowance for drift", edits: []edit{
		{"lock.go", "return ttl - drift(ttl)", "return ttl"},
	}},
	{name: "deadline counted from the reply", edits: []edit{
		{"hold.go", "h.start, h.valid, h.origin, h.since = start,", "_, h.start, h.valid, h.origin, h.since = start, now,"},
	}},
	{name: "renewal counted from its reply", edits: []edit{
		{"renewal.go", "h.prolong(sent, h.lock.ttl)", "h.prolong(now, h.lock.ttl)"},
	}},
	{name: "late grant accepted", edits: []edit{
		{"hold.go", "if h.left(now) < agenda.Tick {\n\t\treturn errTooLate", "if false {\n\t\treturn errTooLate"},
		{"hold.go", "start, validity(ttl), now, now", "now, validity(ttl), now, now"},
	}},
	{name: "renewal after release", edits: []edit{
		{"release.go", "\tafter := h.end(cause)\n\th.mu.Unlock()\n\tafter()\n\tif turn {\n\t\tc.queue.SetHeld(l.key, false)\n\t}\n\terr := h.send(r)\n", "\th.mu.Unlock()\n\terr := h.send(r)\n\th.mu.Lock()\n\tafter := h.end(cause)\n\th.mu.Unlock()\n\tafter()\n"},
		{"renewer.go", "if h.handles.Load() <= 0 && !h.dropped {", "if false {"}, // which alone would stop the renewals
	}},
	{name: "plain delete on release", edits: []edit{
		{"memory/engine.go", "return en, en.find(h.Owner, h.Token)", "if len(en.holds) > 0 {\n\t\treturn en, &en.holds[0]\n\t}\n\treturn en, nil"},
	}},
	{name: "token used again by the engine", edits: []edit{
		{"memory/engine.go", "e.tokens.CompareAndSwap(last, token+n-1)", "e.tokens.CompareAndSwap(last, token+n-1-last%2)"},
	}},
	{name: "token used again by a hand-over", edits: []edit{
		{"handover.go", "\t\th.token++\n", ""},
	}},
	{name: "woken waiter let in without a look", edits: []edit{
		{"memory/handover.go", "for q.head != nil && en.fits(&q.head.request) {", "for q.head != nil {"},
	}},
	{name: "turn taken for a grant", edits: []edit{
		{"release.go", "\tif !h.pass() {", "\tif c := h.lock.client; !h.pass() && !(c.queue.Waiting(h.lock.key) > 0 && c.queue.Pass(h.lock.key, func(want) (gift, bool) {\n\t\th.tenure, h.token, h.count = h.tenure+1, h.token+1, 1\n\t\treturn gift{hold: h, tenure: h.tenure, token: h.token}, true\n\t})) {"},
	}},
	{name: "downgrade counts only once it is confirmed", edits: []edit{
		{"lease.go", "\t\th.mode = driver.Shared\n\t\treturn nil", "\t\treturn nil"},
	}},
	{name: "no from the engine ignored", edits: []edit{
		{"renewal.go", "case driver.IsNo(err):\n\t\tevent.Err = ErrLost", "case false:\n\t\tevent.Err = ErrLost"},
	}, test: "TestNoFromTheEngineEndsTheLeaseAtOnce"},
	{name: "no answer taken for a yes", edits: []edit{
		{"renewal.go", "\tcase err == nil:\n\t\th.prolong", "\tcase !driver.IsNo(err):\n\t\th.prolong"},
	}},
	{name: "turn of a failed caller kept", edits: []edit{
		{"acquire.go", "\t\tif queued {\n\t\t\tl.turnOver(a)\n\t\t}\n", ""},
	}},
	{name: "owner used again after it was released", edits: []edit{
		{"hold.go", "	next.place = h.place\n", "	next.place, next.owner = h.place, h.owner\n"},
	}},
	{name: "who comes out of the queue of the process has not waited", edits: []edit{
		{"acquire.go", "a.heard = a.heard || turn.Held", ""},
	}, test: "TestWaitersOfTheProcessRideOutAnOutage"},
	{name: "no answer taken for held", edits: []edit{
		{"acquire.go", "if a.heard {\n\t\treturn nil", "if true {\n\t\treturn nil"},
	}, test: "TestNoAnswerWithinTheWaitLimitIsNotHeld"},
	{name: "lease over before its context", edits: []edit{
		{"lease.go", "if why != nil && ending != nil {", "if false {"},
	}, test: "TestContextIsDoneOnceTheLeaseIsOver"},
	{name: "take of unknown outcome forgotten", edits: []edit{
		{"acquire.go", "\t\tif touched {\n\t\t\th.abandon()\n\t\t}\n\t\treturn nil, over", "\t\treturn nil, over"},
	}, test: "TestTakeOfUnknownOutcomeIsUndone"},
	{name: "locks taken in one step although one is held", edits: []edit{
		{"memory/all.go", "en.queue == nil && en.fits(r)", "true"},
	}},
	{name: "locks of unknown outcome forgotten", edits: []edit{
		{"lockall_once.go", "if touched {", "if touched && false {"},
	}, test: "TestLockAllOfUnknownOutcomeLeavesNothing"},
	{name: "turns kept after one step was refused", edits: []edit{
		{"lockall_once.go", "\t\tc.turnsDone(locks[1:])\n", ""},
	}},
	{name: "clean-up content with its first answer", edits: []edit{
		{"cleanup.go", "&& sent >= h.uncertain {", "{"},
	}, test: "TestTakeOfUnknownOutcomeIsUndone"},
}

// Each fault has its place in the code. Make mutants checks that it is found.
func TestPlantedFaultsHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	overlay.Check(t, faults())
}

func faults() (list []overlay.Fault) {
	for _, m := range mutants {
		f := overlay.Fault{Name: m.name, Test: m.test}
		for _, e := range m.edits {
			f.Edits = append(f.Edits, overlay.Edit{File: e.file, From: e.from, To: e.to})
		}
		if f.Test == "" {
			f.Test, f.Says = "TestSchedules", "broke a promise"
		}
		list = append(list, f)
	}
	return list
}
