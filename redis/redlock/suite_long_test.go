//go:build long

package redlock_test

import "testing"

// The suite of all engines on an even number of servers, and on one alone.
func TestContractOnOtherNumbersOfServers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4} {
		t.Run(servs(n), func(t *testing.T) {
			t.Parallel()
			suite(t, n)
		})
	}
}
