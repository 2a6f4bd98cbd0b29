//go:build mutants

package leasehold_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// Each planted fault is found by the tests that are there to find it: a suite that lets one through would prove
// nothing about the promise behind it.
func TestPlantedFaultsAreFound(t *testing.T) { overlay.Find(t, faults(), "-schedules", "10000") }
