//go:build mutants

package zookeeper

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// Each planted fault is found by the test that is meant to find it.
func TestMutantsAreFound(t *testing.T) { overlay.Find(t, mutants) }
