package redisson_test

import (
	"fmt"
	"testing"

	"github.com/leasehold-go/leasehold/redis/redisson"
)

func TestPrintedOptions(t *testing.T) {
	t.Parallel()
	for value, want := range map[fmt.Stringer]string{
		redisson.Fenced: "fenced", redisson.Fair: "fair", redisson.LockType(9): "LockType(9)",
		redisson.Auto: "auto", redisson.Unsharded: "unsharded", redisson.Messages(-1): "Messages(-1)",
	} {
		if got := value.String(); got != want {
			t.Errorf("%d is printed as %q, want %q", value, got, want)
		}
	}
}
