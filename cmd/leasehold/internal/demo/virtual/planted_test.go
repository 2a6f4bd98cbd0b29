package virtual_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// planted are faults that take away what protects in a case, as edits of the source.
var planted = []struct{ letter, what, file, from, to string }{
	{"a", "leases without an end", "locker.go", "TTL: a.ttl, Tokens: 1", "TTL: 1000 * time.Hour, Tokens: 1"},
	{"b", "a release of whoever holds", "../../../../../memory/engine.go", "\ten, h := e.holding(s, &r.Hold, now)\n\tif en == nil {\n\t\treturn driver.ErrNotHeld\n\t}\n",
		"\ten, h := e.holding(s, &r.Hold, now)\n\tif en == nil {\n\t\treturn driver.ErrNotHeld\n\t}\n\tif h == nil && len(en.holds) > 0 {\n\t\th = &en.holds[0]\n\t}\n"},
	{"c", "a mark that refuses nobody", "../../../../../fence/marks.go", "have > token {", "false && have > token {"},
	{"d", "no guard after a failover", "world.go", "if w.setup.Guarded {", "if false {"},
	{"e", "no quarantine after a restart", "world.go", "if w.setup.Guarded {", "if false {"},
	{"f", "tokens that do not grow", "locker.go", "return token, a.majority(agree)", "return 1, a.majority(agree)"},
	{"g", "a lease that counts from the answer", "locker.go", "a.token, a.deadline = token, sent+valid(l.ttl)", "a.token, a.deadline = token, sent-sent+l.now+valid(l.ttl)"},
}

// Each fault has its place in the code. Make mutants checks that it is found.
func TestPlantedFaultsHaveTheirPlaces(t *testing.T) {
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
