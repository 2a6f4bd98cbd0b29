package simulator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// plantedFault is a fault in the scripts, as edits, to test the tests. The zero value is no fault.
type plantedFault []edit

type edit struct{ file, from, to string }

// plantedFaults are the faults that the schedules must find. Words in capitals are constants, which
// are replaced when the scripts are loaded.
var plantedFaults = map[string]plantedFault{
	"ends of shared leases stay times of another clock": {
		{"shared.lua", "  if value then rebase() end\n", ""},
	},
	"a server without a record of earlier use is open": {
		{"guard.lua", "who and 'other' or 'new', now, nodes",
			"who and 'other' or 'new', who and now or now - longest, nodes"},
	},
	"a slot is open where its master is": {
		{"guard.lua", "who and 'other' or 'new', now, nodes", "'new', now, nodes"},
		{"guard_slots.lua", "recordedEpoch == epoch and", ""},
		{"guard_slots.lua", "if tonumber(first) <= slot and slot <= tonumber(last) then hadSlot = 1 end",
			"hadSlot = 1"},
	},
	"scripts that grant do not look at the slot": {
		{"check_marker.lua", "if not closed and string.sub", "if not closed and false and string.sub"},
	},
	"a release takes from whoever holds": {
		{"lock.lua", "return value and string.sub(value, 1, #owner + 1) == owner .. '\\n'", "return value"},
	},
	"a lost counter begins at one": {
		{"lock.lua", "math.max(last + 1, tonumber(floor))", "last + 1"},
		{"take_steps.lua", "if last and last < floor then", "if false then"},
	},
}

// mutants are faults in the engine that the schedules must find.
var mutants = []overlay.Fault{{
	Name: "owner used again after the undoing of its grant",
	Edits: []overlay.Edit{
		{File: "../../replicas.go", From: "\t\t\treturn driver.Spent(short)\n", To: "\t\t\treturn short\n"},
		{File: "../../replicas.go", From: "return driver.Spent(driver.NoEffect(short))",
			To: "return driver.NoEffect(short)"},
		{File: "../../replicas.go", From: "return e.replicas > 0 && err != nil", To: "return false && err != nil"},
	},
	Test: "TestSchedules", Says: "broke a promise",
}}

// applyTo returns a script with the fault in it.
func (p plantedFault) applyTo(text string) string {
	for _, e := range p {
		text = strings.Replace(text, e.from, e.to, 1)
	}
	return text
}

// The text of each fault is in the scripts. make mutants checks that the fault is found.
func TestPlantedFaultsApply(t *testing.T) {
	t.Parallel()
	overlay.Check(t, mutants)
	uses := 0
	for _, file := range []string{"lock.lua", "shared.lua"} {
		text, err := os.ReadFile(filepath.Join("../../scripts", file))
		if err != nil {
			t.Fatal(err)
		}
		uses += len(stepLimits.FindAllString(strings.ReplaceAll(string(text), "MAX_STEPS", "40"), -1))
	}
	if uses != 4 {
		t.Errorf("stepLimits finds %d uses of MAX_STEPS, want 4", uses)
	}
	for name, p := range plantedFaults {
		for _, e := range p {
			text, err := os.ReadFile(filepath.Join("../../scripts", e.file))
			if n := strings.Count(string(text), e.from); err != nil || n != 1 {
				t.Errorf("%s: %s has %d occurrences of %q, want 1: plant the fault again (%v)", name, e.file, n, e.from,
					err)
			}
		}
	}
}
