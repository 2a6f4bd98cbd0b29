//go:build mutants

package leasehold_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// The tests find each planted fault: a suite that misses one would prove nothing about the promise behind it.
func TestPlantedFaultsAreFound(t *testing.T) { overlay.Find(t, faults(), "-schedules", "10000") }
