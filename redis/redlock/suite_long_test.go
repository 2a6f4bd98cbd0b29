//go:build long

package redlock_test

import (
	"fmt"
	"testing"
)

// The contract suite on an even number of servers, and on one alone.
func TestContractOnOtherNumbersOfServers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4} {
		t.Run(fmt.Sprintf("%dServers", n), func(t *testing.T) {
			t.Parallel()
			suite(t, n)
		})
	}
}
