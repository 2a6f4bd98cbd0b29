package fence_test

import (
	"sync"
	"testing"

	"github.com/leasehold-go/leasehold/fence"
)

// Concurrent first raises of a name agree on the largest token.
func TestMemoryMarks(t *testing.T) {
	t.Parallel()
	var m fence.Memory
	var work sync.WaitGroup
	for token := uint64(1); token <= 50; token++ {
		work.Go(func() {
			if err := m.Raise(t.Context(), "a", token); err == nil && token == 50 {
				return
			} else if token == 50 {
				t.Errorf("the largest token: %v", err)
			}
		})
	}
	work.Wait()
	err := m.Raise(t.Context(), "a", 49)
	expect(t, "a smaller token", err.Error(), staleText("a", 50, 49))
	if err := m.Raise(t.Context(), "a", 50); err != nil {
		t.Errorf("the same token: %v", err)
	}
	if err := m.Raise(t.Context(), "b", 1); err != nil {
		t.Errorf("another name: %v", err)
	}
}
