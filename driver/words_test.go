package driver_test

import (
	"fmt"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

// Programs identify these values by their words, which never change.
func TestWords(t *testing.T) {
	t.Parallel()
	for value, want := range map[fmt.Stringer]string{
		driver.EndlessLease: "endless lease",
		driver.EndlessToken: "endless token",
		driver.DeadWaiters:  "dead waiters",
		driver.Remains:      "remains",
		driver.LeakSort(0):  "LeakSort(0)",
		driver.Asked:        "asked",
		driver.Removed:      "removed",
		driver.Gone:         "gone",
		driver.Refused:      "refused",
		driver.Outcome(9):   "Outcome(9)",
		driver.Note:         "note",
		driver.Warning:      "warning",
		driver.Critical:     "critical",
		driver.Severity(0):  "Severity(0)",
	} {
		if value.String() != want {
			t.Errorf("%T is %q, want %q", value, value, want)
		}
	}
	for i, sort := range driver.LeakSorts {
		if sort != driver.LeakSort(i+1) {
			t.Errorf("the sorts are %v", driver.LeakSorts)
		}
	}
}
