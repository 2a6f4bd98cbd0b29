//go:build mutants

package simulated_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// Without its protection each case fails, for all seeds or for some. A demo that could not fail would show nothing.
func TestPlantedFaultsAreFound(t *testing.T) { overlay.Find(t, faults()) }
