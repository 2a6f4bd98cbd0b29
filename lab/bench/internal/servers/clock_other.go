//go:build !linux

package servers

import "time"

// processorTime is not available on this system.
func processorTime(int) time.Duration { return 0 }
