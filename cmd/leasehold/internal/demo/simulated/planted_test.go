package simulated_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// planted are faults that remove the protection of a case, as edits of the source.
var planted = []struct{ letter, what, file, from, to string }{
	{"a", "leases without an end", "locker.go", "TTL: a.ttl, Tokens: 1", "TTL: 1000 * time.Hour, Tokens: 1"},
	{"b", "a release of whoever holds", "../../../../../memory/engine.go",
		"\ten, h := e.findHoldLocked(s, &r.Hold, now)\n\tif en == nil {\n\t\treturn driver.ErrNotHeld\n\t}\n",
		"\ten, h := e.findHoldLocked(s, &r.Hold, now)\n\tif en == nil {\n\t\treturn driver.ErrNotHeld\n\t}\n" +
			"\tif h == nil && len(en.holds) > 0 {\n\t\th = &en.holds[0]\n\t}\n"},
	{"c", "a mark that refuses nobody", "../../../../../fence/marks.go", "have > token {", "false && have > token {"},
	{"d", "no guard after a failover", "environment.go", "if e.setup.Guarded {", "if false {"},
	{"e", "no quarantine after a restart", "environment.go", "if e.setup.Guarded {", "if false {"},
	{"f", "tokens that do not grow", "locker.go", "return token, a.isMajority(agree)", "return 1, a.isMajority(agree)"},
	{"g", "a lease that counts from the answer", "locker.go", "a.token, a.deadline = token, sent+validity(l.ttl)",
		"a.token, a.deadline = token, sent-sent+l.now+validity(l.ttl)"},
}

// Each fault can be planted in the code. Make mutants checks that it is found.
func TestPlantedFaultsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, faults())
}

func faults() (list []overlay.Fault) {
	for _, p := range planted {
		list = append(list, overlay.Fault{
			Name:  p.what,
			Edits: []overlay.Edit{{File: p.file, From: p.from, To: p.to}},
			Test:  "TestLeaseholdLosesNothing/" + p.letter,
			Says:  "Lost:[1-9]|Refused:[1-9]|Hung:[1-9]",
		})
	}
	return list
}
