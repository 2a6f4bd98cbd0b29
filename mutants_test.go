package leasehold_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// mutant is a planted fault: a mistake that somebody has made in a lock library before, or might make in this one.
type mutant struct {
	name  string
	edits []edit
	test  string // must fail; "" is TestSchedules
}

type edit struct{ file, from, to string }

var mutants = []mutant{
	{name: "no allowance for drift", edits: []edit{
		{"validity.go", "return ttl - driver.Drift(ttl)", "return ttl"},
	}},
	{name: "deadline counted from the reply", edits: []edit{
		{"hold.go", "h.validity.start, h.validity.length = start,", "h.validity.start, h.validity.length = now,"},
	}},
	{name: "renewal counted from its reply", edits: []edit{
		{"renewal.go", "h.validity.extend(sent, h.lock.ttl)", "h.validity.extend(now, h.lock.ttl)"},
	}},
	{name: "late grant accepted", edits: []edit{
		{"hold.go", "if h.validity.remaining(now) < schedule.Tick {\n\t\treturn errGrantTooLate",
			"if false {\n\t\treturn errGrantTooLate"},
		{"hold.go", "length = start, validFor(ttl)", "length = now, validFor(ttl)"},
	}},
	{name: "renewal after release", edits: []edit{
		{"release.go", "\trest := h.endLocked(cause)\n",
			"\trest := afterUnlock{hold: h, endTurn: h.hasTurn}\n\th.hasTurn = false\n"},
		{"after_unlock.go", "\t\tr.err = r.send(ctx)\n",
			"\t\tr.err = r.send(ctx)\n\t\tr.hold.mu.Lock()\n\trest := r.hold.endLocked(ErrReleased)\n" +
				"\t\tr.hold.mu.Unlock()\n\t\trest.run()\n"},
		{"hold.go", " && h.openLeases > 0 ||", " ||"}, // this alone would stop the renewals
	}},
	{name: "plain delete on release", edits: []edit{
		{"memory/engine.go", "return en, en.find(h.Owner, h.Token)",
			"if len(en.holds) > 0 {\n\t\treturn en, &en.holds[0]\n\t}\n\treturn en, nil"},
	}},
	{name: "token used again by the engine", edits: []edit{
		{"memory/engine.go", "e.tokens.CompareAndSwap(last, token+n-1)",
			"e.tokens.CompareAndSwap(last, token+n-1-last%2)"},
	}},
	{name: "token used again by a hand-over", edits: []edit{
		{"handover.go", "\th.token++\n", ""},
	}},
	{name: "woken waiter granted without a check", edits: []edit{
		{"memory/handover.go", "for q.head != nil && en.fits(&q.head.request.Request) {", "for q.head != nil {"},
	}},
	{name: "turn counts as a grant", edits: []edit{
		{"release.go", "\tcase h.handOverLocked() ||",
			"\tcase h.handOverLocked() || h.lock.client.queue.Waiting(h.lock.key) > 0 && " +
				"h.lock.client.queue.PassTurn(h.lock.key, func(turnRequest) (turnTransfer, bool) {\n" +
				"\t\th.tenure, h.token, h.openLeases = h.tenure+1, h.token+1, 1\n" +
				"\t\treturn turnTransfer{hold: h, tenure: h.tenure, token: h.token}, true\n\t}) ||"},
	}},
	{name: "downgrade counts only once it is confirmed", edits: []edit{
		{"lease.go", "\t\th.mode = driver.Shared\n\t\treturn nil", "\t\treturn nil"},
	}},
	{name: "no from the engine ignored", edits: []edit{
		{"renewal.go", "case driver.IsNo(err):\n\t\tevent.Err = ErrLost", "case false:\n\t\tevent.Err = ErrLost"},
	}, test: "TestNoFromTheEngineEndsTheLeaseAtOnce"},
	{name: "no answer counts as a yes", edits: []edit{
		{"renewal.go", "\tcase err == nil:\n\t\th.validity.extend",
			"\tcase !driver.IsNo(err):\n\t\th.validity.extend"},
	}},
	{name: "turn of a failed caller kept", edits: []edit{
		{"acquire.go", "\t\tl.endTurn(a)\n", ""},
	}},
	{name: "owner used again after it was released", edits: []edit{
		{"acquire.go", "h.place, r.Owner = spent.place, h.owner", "h.place, h.owner = spent.place, spent.owner"},
	}},
	{name: "waiter of the local queue counts as one that has not waited", edits: []edit{
		{"acquire_wait.go", "a.knownHeld = a.knownHeld || turn.Held", ""},
	}, test: "TestLocalWaitersSurviveAnOutage"},
	{name: "no answer counts as held", edits: []edit{
		{"acquire_wait.go", "if a.knownHeld {\n\t\treturn nil", "if true {\n\t\treturn nil"},
	}, test: "TestNoAnswerWithinTheWaitLimitIsNotHeld"},
	{name: "lease ends before its context", edits: []edit{
		{"lease.go", "if err != nil && end != nil {", "if false {"},
	}, test: "TestContextIsDoneOnceTheLeaseIsOver"},
	{name: "take of unknown outcome forgotten", edits: []edit{
		{"acquire.go", "\t\t\th.cleanUp()\n\t\t\treturn nil, callErr", "\t\t\treturn nil, callErr"},
	}, test: "TestTakeOfUnknownOutcomeIsUndone"},
	{name: "locks taken in one step although one is held", edits: []edit{
		{"memory/all.go", "en.queue == nil && en.fits(r)", "true"},
	}},
	{name: "locks of unknown outcome forgotten", edits: []edit{
		{"lockall.go", "\tcleanUpAll(rest)\n", ""},
	}, test: "TestLockAllOfUnknownOutcomeLeavesNothing"},
	{name: "turns kept after one step was refused", edits: []edit{
		{"lockall.go", "\t\tc.endTurns(locks[1:])\n", ""},
	}},
	{name: "takes crowd out renewals", edits: []edit{
		{"internal/takelimit/takelimit.go", "\tl.maxInFlight = minTakes\n", ""},
	}, test: "TestRenewalsGoBeforeTakes"},
	{name: "all renewals at once", edits: []edit{
		{"internal/takelimit/renewals.go", " && l.sentRenewals < maxRenewals {", " {"},
	}, test: "TestMoreLeasesThanCanBeRenewed"},
	{name: "renewal that waits counts as one without an answer", edits: []edit{
		{"renewal.go", "!h.unsent && h.nextRenewal-at", "h.nextRenewal-at"},
		{"hold.go", "if h.isRenewedLocked() && !h.unsent {", "if h.isRenewedLocked() {"},
	}, test: "TestMoreLeasesThanCanBeRenewed"},
	{name: "lock handed over while its data is on the way", edits: []edit{
		{"handover.go", "h.hasUnconfirmedData() || ", ""},
	}, test: "TestDataThatIsNotConfirmedEndsItsHold/handed_over"},
	{name: "lock lingers while its data is on the way", edits: []edit{
		{"idle.go", " || h.hasUnconfirmedData()", ""},
	}, test: "TestDataThatIsNotConfirmedEndsItsHold/lingers"},
	{name: "data is sent once", edits: []edit{
		{"data.go", "if !errors.Is(err, ErrUnavailable) ||", "if true ||"},
	}, test: "TestDataIsSentAgainWithoutAnAnswer"},
	{name: "Do does not say why the work was cancelled", edits: []edit{
		{"lock.go", "return l.hold.lock.newError(\"work under\", e.Err, work)", "return work"},
	}, test: "TestDoSaysWhyTheWorkWasCancelled"},
	{name: "one dropped lease of several ends the renewals", edits: []edit{
		{"renewal.go", "int(h.droppedLeases.Load()) == h.openLeases {", "h.droppedLeases.Load() > 0 {"},
	}, test: "TestInnerLeasesThatAreGoneKeepTheOuterOne/dropped"},
	{name: "lease that was released counts as dropped", edits: []edit{
		{"lease.go", "\tl.cleanup.Stop()\n", ""},
	}, test: "TestInnerLeasesThatAreGoneKeepTheOuterOne/released_late"},
	{name: "context of an inner lease keeps the outer one", edits: []edit{
		{"context.go", "\t\tparent = direct.Context\n", "\t\t_ = direct\n"},
	}, test: "TestDroppedLeasesEndTogether"},
	{name: "waiter that fails stays in the queue", edits: []edit{
		{"hold.go", "\th.mayHold = true // the owner has joined the queue\n", ""},
	}, test: "TestWaiterThatFailsLeavesTheQueue"},
	{name: "late take forgotten after a refusal", edits: []edit{
		{"loss.go", "h.loseLocked(LossRefused, h.isUnknownLocked())", "h.loseLocked(LossRefused, false)"},
	}, test: "TestTakeThatArrivesAfterTheLeaseIsCleanedUp/refused"},
	{name: "late take forgotten after a release", edits: []edit{
		{"release.go", "!driver.IsNo(err) || h.isUnknownLocked() {", "!driver.IsNo(err) {"},
	}, test: "TestTakeThatArrivesAfterTheLeaseIsCleanedUp/released"},
	{name: "idle hold used although its lease is over", edits: []edit{
		{"handover.go", "\t\th.validity.remaining(now) >= h.lock.ttl/3 && ", "\t\t"},
	}, test: "TestALeaseThatIsLostWhileIdleIsNotUsed"},
	{name: "idle hold used although it is being released", edits: []edit{
		{"renewal.go", "if h.hasLingeredLocked(c.schedule.At(now)) && h.unparkLocked() {",
			"if h.hasLingeredLocked(c.schedule.At(now)) {"},
		{"idle.go", "if h.phase != phaseIdle || !h.canContinueLocked(now)",
			"if h.phase != phaseIdle && h.phase != phaseLeaving || !h.canContinueLocked(now)"},
	}},
	{name: "lock in use released when it is recalled", edits: []edit{
		{"idle.go", "\tif h.phase == phaseIdle && h.unparkLocked() {\n\t\tinUse",
			"\tif h.phase == phaseHeld || h.phase == phaseIdle && h.unparkLocked() {\n\t\tinUse"},
	}},
	{name: "recalled lock kept after its release", edits: []edit{
		{"idle.go", "if !h.recallable || h.recalled || ", "if !h.recallable || "},
	}, test: "TestARecalledLockDoesNotLinger"},
	{name: "try that asks again after its recall", edits: []edit{
		{"acquire_wait.go", "\tcase a.try && a.knownHeld && !driver.IsPermanent(err):\n", "\tcase isHeld:\n"},
	}, test: "TestATryIsOverWhenItsRecallFails"},
	{name: "idle lock of a caller that has given up forgotten", edits: []edit{
		{"idle.go", "case h.phase == phaseIdle && !h.recalled && h.parkLocked():",
			"case h.phase == phaseIdle && !h.recalled:"},
	}, test: "TestACallerThatGivesUpLeavesAnIdleLock"},
	{name: "idle lock that does not suit forgotten", edits: []edit{
		{"acquire.go", "before, a.tokens = h.follow()", "_, a.tokens = h.follow()"},
	}, test: "TestAnotherClientRecallsAnIdleLock"},
	{name: "later release forgotten", edits: []edit{
		{"leaving.go", "if h.parked && !h.unparkLocked() {", "if !h.parked || !h.unparkLocked() {"},
	}, test: "TestReleaseLaterDoesNotWait"},
	{name: "recall that waits for the engine", edits: []edit{
		{"idle.go", "\t\tdefault: // the client is being closed, and Close ends the hold\n\t\t\th.parkLocked()\n",
			"\t\tdefault:\n\t\t\trest = h.releaseLocked(ErrReleased)\n"},
	}, test: "TestARecallDoesNotWaitForTheEngine"},
	{name: "idle locks that fill a client", edits: []edit{
		{"idle.go", "2*c.leaseCount.Load() > int64(c.maxLeases)", "c.leaseCount.Load() > int64(c.maxLeases)"},
	}, test: "TestIdleLocksDoNotFillAClient"},
	{name: "later release without answer kept from Close", edits: []edit{
		{"leaving.go", "\t\tc.closeErrs.add(err)\n", ""},
	}, test: "TestCloseTellsOfALaterReleaseWithoutAnswer"},
	{name: "idle locks forgotten by Close", edits: []edit{
		{"cleanup.go", "case phaseHeld, phaseIdle:", "case phaseHeld:"},
	}, test: "TestCloseReleasesIdleLocks"},
	{name: "clean-up ends with its first answer", edits: []edit{
		{"cleanup.go", "answered && sent >= h.unknownUntil {", "answered {"},
	}, test: "TestTakeOfUnknownOutcomeIsUndone"},
}

// Each planted fault fits the code. Make mutants checks that it is found.
func TestPlantedFaultsApply(t *testing.T) {
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
