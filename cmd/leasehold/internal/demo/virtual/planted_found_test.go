//go:build mutants

package virtual_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// Each protection is one without which the case fails, for all seeds or for some. A demo that could not fail would show nothing.
func TestPlantedFaultsAreFound(t *testing.T) { overlay.Find(t, faults()) }
