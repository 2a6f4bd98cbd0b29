package drivertest

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

var data = []check{
	{"DataOutlivesItsLease", dataOutlivesItsLease},
	{"OnlyTheHolderSetsData", onlyTheHolderSetsData},
	{"DataThatComesLateChangesNothing", lateData},
	{"OlderDataChangesNothing", olderData},
	{"EmptyDataRemoves", emptyDataRemoves},
	{"AnyBytesAreData", anyBytesAreData},
	{"EachNameHasItsData", eachNameHasItsData},
	{"DataIsNotALock", dataIsNotALock},
	{"ReadersSetNoData", readersSetNoData},
	{"DataAfterAForcedRelease", dataAfterAForcedRelease},
	{"SetDataWithoutReply", setDataWithoutReply},
	{"DataWithAnEndedContext", dataWithAnEndedContext},
	{"DataSurvivesACrash", dataSurvivesACrash},
}

// keeper opens an engine that stores data.
func (e *env) keeper() (driver.Engine, driver.DataKeeper) {
	e.Helper()
	engine := e.open()
	k, ok := engine.(driver.DataKeeper)
	e.needs(ok, "data")
	return engine, k
}

// setOf returns data to be stored by a holder.
func (h holding) setOf(number uint64, value string) driver.DataSet {
	return driver.DataSet{
		Hold: holdOf(h.request), Data: driver.Data{Value: []byte(value), Token: h.grant.Token, Number: number},
	}
}

func (e *env) mustSetData(k driver.DataKeeper, s driver.DataSet) {
	e.Helper()
	if err := k.SetData(e.ctx, s); err != nil {
		e.Fatalf("SetData by the holder: %v", err)
	}
}

func (e *env) mustNotSetData(k driver.DataKeeper, s driver.DataSet) {
	e.Helper()
	if err := k.SetData(e.ctx, s); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("SetData by an owner that does not hold: %v, want ErrNotHeld", err)
	}
}

// checkData checks which value is stored. Empty means that there is none.
func (e *env) checkData(k driver.DataKeeper, name, value string, token uint64) {
	e.Helper()
	d, err := k.Data(e.ctx, e.prefix+name)
	switch {
	case err != nil:
		e.Fatalf("Data: %v", err)
	case string(d.Value) != value || value != "" && d.Token != token:
		e.Fatalf("the data is %.40q with token %d, want %.40q with token %d", d.Value, d.Token, value, token)
	}
}

func dataOutlivesItsLease(e *env) {
	a, ka := e.keeper()
	b, kb := e.keeper()
	e.checkData(ka, "name", "", 0)
	first := e.mustHold(a, e.lock("name"))
	e.mustSetData(ka, first.setOf(1, "one"))
	e.checkData(kb, "name", "one", first.grant.Token)
	e.release(a, first.request)
	e.checkData(kb, "name", "one", first.grant.Token)
	second := e.mustHold(b, e.lock("name"))
	e.checkData(kb, "name", "one", first.grant.Token)
	e.mustSetData(kb, second.setOf(1, "two"))
	e.mustSetData(kb, second.setOf(2, "three"))
	e.checkData(ka, "name", "three", second.grant.Token)
	e.mustRenew(b, second.request, e.long)
	e.release(b, second.request)
	e.checkFree(a, e.lock("name"))
	e.checkData(ka, "name", "three", second.grant.Token)
}

func onlyTheHolderSetsData(e *env) {
	a, ka := e.keeper()
	b, kb := e.keeper()
	h := e.mustHold(a, e.lock("name"))
	e.mustSetData(ka, h.setOf(1, "one"))

	other := holding{b, e.lock("name"), driver.Grant{Token: h.grant.Token + 1}}
	e.mustNotSetData(kb, other.setOf(1, "by nobody"))
	w := e.join(b, e.lock("name"))
	e.mustNotSetData(kb, holding{b, w.request, other.grant}.setOf(1, "by a waiter"))
	e.checkData(kb, "name", "one", h.grant.Token)
	w.leave()

	e.release(a, h.request)
	e.mustNotSetData(ka, h.setOf(2, "after its release"))
	e.checkData(kb, "name", "one", h.grant.Token)
	e.mustNotSetData(ka, holding{a, e.lock("never taken"), other.grant}.setOf(1, "without a lock"))
	e.checkData(kb, "never taken", "", 0)
}

func lateData(e *env) {
	a, ka := e.keeper()
	b, kb := e.keeper()
	old := e.mustHold(a, e.withShortTTL(e.lock("name")))
	e.expireShortLeases()
	e.mustNotSetData(ka, old.setOf(1, "after its lease"))
	next := e.mustHold(b, e.lock("name"))
	e.mustNotSetData(ka, old.setOf(2, "while another holds"))
	e.checkData(ka, "name", "", 0)
	e.mustSetData(kb, next.setOf(1, "next"))
	e.mustNotSetData(ka, old.setOf(3, "after another has set it"))
	e.checkData(ka, "name", "next", next.grant.Token)
}

// A hold may have several leases one after the other, each with a token of its range.
func olderData(e *env) {
	a, ka := e.keeper()
	r := e.lock("name")
	r.Tokens = 2
	h := e.mustHold(a, r)
	first := h.grant.Token
	e.mustSetData(ka, h.setOf(2, "second"))
	e.mustSetData(ka, h.setOf(1, "first, overtaken"))
	e.checkData(ka, "name", "second", first)
	e.mustSetData(ka, h.setOf(2, "second"))
	e.checkData(ka, "name", "second", first)
	if h.grant.Tokens < 2 {
		return
	}
	late := h.setOf(9, "of the lease before")
	next := h.setOf(3, "next lease")
	next.Data.Token++
	e.mustSetData(ka, next)
	e.mustNotSetData(ka, late)
	e.checkData(ka, "name", "next lease", first+1)
}

func emptyDataRemoves(e *env) {
	a, ka := e.keeper()
	h := e.mustHold(a, e.lock("name"))
	e.mustSetData(ka, h.setOf(1, ""))
	e.checkData(ka, "name", "", 0)
	e.mustSetData(ka, h.setOf(3, "something"))
	e.mustSetData(ka, h.setOf(4, ""))
	e.checkData(ka, "name", "", 0)
	_ = ka.SetData(e.ctx, h.setOf(2, "late")) // whatever it answers
	e.checkData(ka, "name", "", 0)
	absent := h.setOf(5, "")
	absent.Data.Value = nil
	e.mustSetData(ka, absent)
	e.checkData(ka, "name", "", 0)
	e.mustSetData(ka, h.setOf(6, "again"))
	e.checkData(ka, "name", "again", h.grant.Token)
}

func anyBytesAreData(e *env) {
	a, ka := e.keeper()
	h := e.mustHold(a, e.lock("name"))
	var all []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	for i, value := range []string{
		"0", "\x00", "\n", " 7 7\nx", string(all), strings.Repeat("x", driver.MaxDataSize),
		string(bytes.Repeat(all, driver.MaxDataSize/256)),
	} {
		e.mustSetData(ka, h.setOf(uint64(i+1), value))
		e.checkData(ka, "name", value, h.grant.Token)
	}
}

func eachNameHasItsData(e *env) {
	a, ka := e.keeper()
	b, kb := e.keeper()
	names := []string{"name", "name/", "name:data", "{name}", "{a}name", "na{m}e", "データ", "name data", "data"}
	var tokens []uint64
	for _, name := range names {
		if e.refuses(e.prefix + name) {
			tokens = append(tokens, 0)
			continue
		}
		h := e.mustHold(a, e.lock(name))
		e.mustSetData(ka, h.setOf(1, "data of "+name))
		e.release(a, h.request)
		tokens = append(tokens, h.grant.Token)
	}
	for i, name := range names {
		if !e.refuses(e.prefix + name) {
			e.checkData(kb, name, "data of "+name, tokens[i])
			e.checkFree(b, e.lock(name))
		}
	}
}

// Data is neither listed, nor a leak, nor in the way of other kinds of the same name.
func dataIsNotALock(e *env) {
	a, ka := e.keeper()
	h := e.mustHold(a, e.lock("name"))
	e.mustSetData(ka, h.setOf(1, "one"))
	e.release(a, h.request)
	if all := e.list(a, driver.Query{Prefix: e.prefix}); len(all) > 0 {
		e.Errorf("a free lock with data is listed: %+v", all)
	}
	o := driver.OperatorOf(a)
	var found []driver.Leak
	err := o.Leaks(e.ctx, driver.Query{Prefix: e.prefix}, func(l driver.Leak) bool {
		found = append(found, l)
		return true
	})
	if err != nil && !errors.Is(err, driver.ErrUnsupported) || len(found) > 0 {
		e.Errorf("data counts as a leak: %+v, %v", found, err)
	}
	if e.can.Semaphores {
		r := e.permits("name", 2, 1)
		e.take(a, r)
		other := holding{a, e.byNewOwner(e.lock("name")), driver.Grant{Token: h.grant.Token + 1}}
		e.mustNotSetData(ka, other.setOf(1, "x"))
		e.release(a, r)
	}
	e.checkData(ka, "name", "one", h.grant.Token)
}

func readersSetNoData(e *env) {
	e.needs(e.can.Shared, "shared mode")
	a, ka := e.keeper()
	h := e.mustHold(a, e.reader("name"))
	e.mustNotSetData(ka, h.setOf(1, "by a reader"))
	e.release(a, h.request)

	h = e.mustHold(a, e.lock("name"))
	e.mustSetData(ka, h.setOf(1, "by a writer"))
	if err := a.Downgrade(e.ctx, holdOf(h.request)); err != nil {
		e.Fatalf("Downgrade: %v", err)
	}
	e.mustNotSetData(ka, h.setOf(2, "by a reader that was a writer"))
	e.checkData(ka, "name", "by a writer", h.grant.Token)
}

func dataAfterAForcedRelease(e *env) {
	a, ka := e.keeper()
	f := e.forcer()
	h := e.mustHold(a, e.lock("name"))
	e.mustSetData(ka, h.setOf(1, "one"))
	e.mustForce(f, h.request.Key, h.grant.Token)
	e.mustNotSetData(ka, h.setOf(2, "two"))
	e.checkData(ka, "name", "one", h.grant.Token)
}

func setDataWithoutReply(e *env) {
	_, kb := e.keeper()
	a := e.faulty(SetData, lostReply)
	h := e.mustHold(a, e.lock("name"))
	e.checkUnknown(a.SetData(e.ctx, h.setOf(1, "one")))
	e.checkData(kb, "name", "one", h.grant.Token)
	e.mustSetData(a, h.setOf(1, "one"))
	e.mustSetData(a, h.setOf(2, "two"))
	e.checkData(kb, "name", "two", h.grant.Token)
}

func dataWithAnEndedContext(e *env) {
	a, ka := e.keeper()
	h := e.mustHold(a, e.lock("name"))
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	if err := ka.SetData(ctx, h.setOf(1, "one")); err == nil || driver.IsNo(err) {
		e.Errorf("SetData with an ended context: %v", err)
	}
	if _, err := ka.Data(ctx, h.request.Name); err == nil || driver.IsNo(err) {
		e.Errorf("Data with an ended context: %v", err)
	}
	e.mustSetData(ka, h.setOf(2, "two"))
	e.checkData(ka, "name", "two", h.grant.Token)
}

func dataSurvivesACrash(e *env) {
	e.needs(e.environment.Restart != nil, "life after its process")
	a, ka := e.keeper()
	h := e.mustHold(a, e.lock("name"))
	e.mustSetData(ka, h.setOf(1, "one"))
	e.environment.Restart(e.T)
	e.resetDeadline()
	_, kb := e.keeper()
	e.checkData(kb, "name", "one", h.grant.Token)
}
