//go:build !unix

package leasehold_test

import (
	"testing"
	"time"
)

// cpuTime is read on Unix only.
func cpuTime(b *testing.B) time.Duration {
	b.Skip("this benchmark reads the processor time of its process, which it can on Unix only")
	return 0
}
