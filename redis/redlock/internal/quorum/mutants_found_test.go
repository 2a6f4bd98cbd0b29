//go:build mutants

package quorum

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// Each fault is found by the test that is there to find it.
func TestMutantsAreFound(t *testing.T) { overlay.Find(t, faults(), "-schedules", "15000") }
