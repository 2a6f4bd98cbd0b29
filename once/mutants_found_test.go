//go:build mutants

package once_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/internal/overlay"
)

// Each planted fault is found by its test.
func TestMutantsAreFound(t *testing.T) { overlay.Find(t, mutants) }
