package simulator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// plant is a fault in the scripts, as edits, for tests of the tests. None is the zero value.
type plant []edit

type edit struct{ file, from, to string }

// planted are the faults that the schedules must find. Words in capitals are constants, which are others in the scripts that are loaded.
var planted = map[string]plant{
	"ends of shared leases stay times of another clock": {
		{"entry.lua", "  if value then rebase() end\n", ""},
	},
	"a server that nobody has seen in use is open": {
		{"guard.lua", "who and 'other' or 'new', now, nodes", "who and 'other' or 'new', who and now or now - longest, nodes"},
	},
	"a slot is open where its master is": {
		{"guard.lua", "who and 'other' or 'new', now, nodes", "'new', now, nodes"},
		{"guard_master.lua", "then_epoch == epoch and", ""},
		{"guard_master.lua", "if tonumber(first) <= slot and slot <= tonumber(last) then had = 1 end", "had = 1"},
	},
	"scripts that grant do not look at the slot": {
		{"guarded.lua", "ARGV[#ARGV] == '1') and string.sub", "ARGV[#ARGV] == '1') and false and string.sub"},
	},
	"a release takes from whoever holds": {
		{"entry.lua", "return value and string.sub(value, 1, #owner + 1) == owner .. '\\n'", "return value"},
	},
	"a lost counter begins at one": {
		{"entry.lua", "math.max(last + 1, tonumber(FLOOR))", "last + 1"},
		{"taking.lua", "if last and last < floor then", "if false then"},
	},
}

// mutants are faults in the engine that the schedules must find.
var mutants = []overlay.Fault{{
	Name: "owner used again after the undoing of its grant",
	Edits: []overlay.Edit{
		{File: "../../replicas.go", From: "\t\t\treturn driver.Spent(short)\n", To: "\t\t\treturn short\n"},
		{File: "../../replicas.go", From: "return driver.Spent(driver.NoEffect(short))", To: "return driver.NoEffect(short)"},
		{File: "../../replicas.go", From: "return e.replicas > 0 && err != nil", To: "return false && err != nil"},
	},
	Test: "TestSchedules", Says: "broke a promise",
}}

// in is a script with the fault in it.
func (p plant) in(text string) string {
	for _, e := range p {
		text = strings.Replace(text, e.from, e.to, 1)
	}
	return text
}

// Each fault has its place in the scripts. Make mutants checks that it is found.
func TestPlantedFaultsHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
	for name, p := range planted {
		for _, e := range p {
			text, err := os.ReadFile(filepath.Join("../../scripts", e.file))
			if n := strings.Count(string(text), e.from); err != nil || n != 1 {
				t.Errorf("%s: %s has %d places like %q, want 1: plant the fault anew (%v)", name, e.file, n, e.from, err)
			}
		}
	}
}
